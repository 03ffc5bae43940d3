import { describe, expect, it } from 'vitest';
import { WakeSignal } from '../../src/async/single-flight.ts';

const LONG_MS = 3_600_000;
const never = new AbortController().signal;

describe('WakeSignal', () => {
  it('does not lose a notification that came before the wait started', async () => {
    const wakeSignal = new WakeSignal();
    const seen = wakeSignal.count;
    wakeSignal.notify();
    await expect(wakeSignal.next(seen, LONG_MS, never)).resolves.toBeUndefined();
  });

  it('ends the wait on abort', async () => {
    const wakeSignal = new WakeSignal();
    const leaver = new AbortController();
    const waiting = wakeSignal.next(0, LONG_MS, leaver.signal);
    leaver.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(wakeSignal.next(0, LONG_MS, leaver.signal)).resolves.toBeUndefined();
  });

  it('wakes by itself after the time given', async () => {
    const began = performance.now();
    await new WakeSignal().next(0, 30, never);
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
  });
});

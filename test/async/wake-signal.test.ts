import { describe, expect, it } from 'vitest';
import { WakeSignal } from '../../src/async/wake-signal.ts';

const LONG_MS = 3_600_000;
const never = new AbortController().signal;

describe('Bell', () => {
  it('wakes everybody who waits', async () => {
    const bell = new WakeSignal();
    const waiting = [bell.next(0, LONG_MS, never), bell.next(0, LONG_MS, never)];
    bell.ring();
    await expect(Promise.all(waiting)).resolves.toHaveLength(2);
  });

  it('does not lose a ring that came before the waiting began', async () => {
    const bell = new WakeSignal();
    const heard = bell.rings;
    bell.ring();
    await expect(bell.next(heard, LONG_MS, never)).resolves.toBeUndefined();
  });

  it('lets who left go on', async () => {
    const bell = new WakeSignal();
    const leaver = new AbortController();
    const waiting = bell.next(0, LONG_MS, leaver.signal);
    leaver.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(bell.next(0, LONG_MS, leaver.signal)).resolves.toBeUndefined();
  });

  it('wakes by itself after the time given', async () => {
    const began = performance.now();
    await new WakeSignal().next(0, 30, never);
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
  });
});

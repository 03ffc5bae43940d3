import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Cancellation, unlessAborted, Deadline } from '../../src/async/cancellation.ts';
import { SingleFlight, WakeSignal } from '../../src/async/single-flight.ts';

describe('Cancellation', () => {
  it('is aborted as soon as one of its sources is', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const either = new Cancellation(one.signal, undefined, other.signal);
    const within = new Cancellation(either);
    expect([either.aborted, within.aborted]).toEqual([false, false]);
    let calls = 0;
    within.addEventListener('abort', () => (calls += 1));
    other.abort();
    expect([either.aborted, within.aborted, calls]).toEqual([true, true, 1]);
  });

  it('calls a removed listener no more, whichever source is aborted', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const either = new Cancellation(one.signal, other.signal);
    const listener = () => expect.unreachable();
    either.addEventListener('abort', listener);
    either.removeEventListener('abort', listener);
    one.abort();
    other.abort();
  });

  it('leaves nothing behind at a signal that lives as long as the process', async () => {
    const { signal } = new AbortController();
    const wakeSignal = new WakeSignal();
    for (let use = 0; use < 10_000; use++) {
      const deadline = new Deadline(60_000, signal);
      const cancel = new Cancellation(signal, deadline);
      const waits = [
        new SingleFlight().join('', () => Promise.resolve({}), cancel),
        unlessAborted(Promise.resolve(use), cancel),
        wakeSignal.next(wakeSignal.count, 60_000, cancel),
      ];
      wakeSignal.notify();
      await Promise.all(waits);
      deadline.close();
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('unlessAborted', () => {
  const never = new Promise<never>(() => {});

  it('resolves to undefined when the signal is aborted first, or already', async () => {
    const stop = new AbortController();
    const waiting = unlessAborted(never, stop.signal);
    stop.abort();
    await expect(waiting).resolves.toBeUndefined();
    await expect(unlessAborted(Promise.resolve(1), stop.signal)).resolves.toBeUndefined();
    await expect(unlessAborted(Promise.reject(new Error()), stop.signal)).resolves.toBeUndefined();
  });

  it('rejects with what the work rejects with', async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow(
      'broken',
    );
  });
});

describe('WakeSignal', () => {
  const LONG_MS = 3_600_000;
  const never = new AbortController().signal;

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

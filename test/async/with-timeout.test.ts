import { describe, expect, it } from 'vitest';
import { withTimeout } from '../../src/async/repeat.ts';

describe('withTimeout', () => {
  it('answers what the promise answers in time', async () => {
    expect(await withTimeout(Promise.resolve('done'), 60_000, 'late')).toBe('done');
  });

  it('answers the other value when the time is over first', async () => {
    expect(await withTimeout(new Promise(() => {}), 1, 'late')).toBe('late');
  });

  it('drops a rejection that comes after the timeout', async () => {
    const { promise, reject } = withResolvers();
    expect(await withTimeout(promise, 1, 'late')).toBe('late');
    reject(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

function withResolvers() {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise((_, no) => {
    reject = no;
  });
  return { promise, reject };
}

import { describe, expect, it } from 'vitest';
import { signal, until } from './wait.ts';

describe('until', () => {
  it('answers the first truthy value', async () => {
    const answers = [undefined, 0, '', 'there', 'later'];
    expect(await until(() => answers.shift(), { what: 'an answer', everyMs: 1 })).toBe('there');
    expect(answers).toEqual(['later']);
  });

  it('names what was awaited and what was seen last', async () => {
    const never = until(() => Promise.resolve(0), { what: 'a job', deadlineMs: 5, everyMs: 1 });
    await expect(never).rejects.toThrow('waited 5 ms for a job; seen last: 0');
  });

  it('ends with an error of the predicate at once', async () => {
    const broken = until(() => Promise.reject(new Error('broken')), { what: 'anything' });
    await expect(broken).rejects.toThrow('broken');
  });
});

describe('signal', () => {
  it('is settled from outside, once', async () => {
    const one = signal<string>();
    expect(one.settled).toBe(false);
    one.resolve('first');
    one.resolve('second');
    expect(one.settled).toBe(true);
    expect(await one.promise).toBe('first');
  });

  it('can fail', async () => {
    const one = signal();
    one.reject(new Error('no'));
    await expect(one.promise).rejects.toThrow('no');
  });
});

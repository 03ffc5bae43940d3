import { describe, expect, it } from 'vitest';
import { settleWithRetry, withTimeout } from '../../src/async/repeat.ts';
import { redisFailure, ScriptFailure } from '../../src/redis/failure.ts';

/** Fails with these errors, one after the other, then succeeds. */
function failing(...errors: readonly Error[]) {
  const left = [...errors];
  const logged: unknown[] = [];
  const settle = () => {
    const error = left.shift();
    return error === undefined
      ? Promise.resolve('recorded')
      : Promise.reject(error).catch((reason: unknown) => {
          throw redisFailure(reason);
        });
  };
  return { settle, left, logged, log: (error: unknown) => logged.push(error) };
}

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

it.each([
  ['a refusal', new ScriptFailure('settle', { code: 'NOREPLICAS' })],
  ['a lost connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  ['a closed connection', new Error('Connection is closed.')],
  ['a command', reply('OOM command not allowed')],
  ['a failed snapshot', reply('MISCONF Redis is configured to save RDB snapshots')],
  ['a replica', reply("READONLY You can't write against a read only replica.")],
  ['a gateway', new ScriptFailure('settle', { code: 'ERR' })],
  ['a command of a script, Redis 6', reply('ERR Error running script (call to f_1): -OOM no')],
])('repeats after %s until it is recorded, and logs the first error', async (_, error) => {
  const { settle, left, logged, log } = failing(error, error);
  expect(await settleWithRetry(settle, log)).toBe('recorded');
  expect([left.length, logged.length]).toEqual([0, 1]);
});

it.each([
  ['JavaScript', new TypeError('x is not a function')],
  ['a script', new ScriptFailure('settle', { code: 'ERR' }, true)],
  ['what a script was called with', new ScriptFailure('settle', { code: 'TypeError' }, true)],
])('gives up at once after a program error, of %s', async (_, error) => {
  const { settle, left, logged, log } = failing(error, error);
  await expect(settleWithRetry(settle, log)).rejects.toBe(error);
  expect([left.length, logged.length]).toEqual([1, 1]);
});

describe('withTimeout', () => {
  it('answers what the promise answers in time', async () => {
    expect(await withTimeout(Promise.resolve('done'), 60_000, 'late')).toBe('done');
  });

  it('answers the other value when the time is over first', async () => {
    expect(await withTimeout(new Promise(() => {}), 1, 'late')).toBe('late');
  });

  it('drops a rejection that comes after the timeout', async () => {
    let reject: (error: Error) => void = () => {};
    const promise = new Promise((_, no) => (reject = no));
    expect(await withTimeout(promise, 1, 'late')).toBe('late');
    reject(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});

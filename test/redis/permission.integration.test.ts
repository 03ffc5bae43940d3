import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { NoticeQueue } from '../../src/index.ts';
import { isProgramError, redisErrorCode, redisFailure } from '../../src/redis/failure.ts';
import { defineScript } from '../../src/redis/script.ts';
import { ownRedis } from '../support/own-redis.ts';

/** A server of its own: users are settings of the whole server. */
const { server, client: admin } = await ownRedis({}, afterAll);
let limited: Redis;

beforeAll(async () => {
  await admin.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '+@all', '-set', '~{nq:a}:ours*');
  limited = new Redis(server.port, { username: 'limited', password: 'secret' });
});

afterAll(() => limited.disconnect());

const KEY = '{nq:a}:send:canary-of-a-key';
const OURS = '{nq:a}:ours';
const SET = `return redis.call('SET', KEYS[1], ARGV[1])`;
const script = (lua: string, key: string, value: string) =>
  defineScript({ name: 'probe', lua })(limited, [key], [value]);
const IN_SCRIPT = /: (?:the command set|a command inside a script on \{nq:a\}:ours) \(/;
const OF_SEND = /: a key of \{nq:a\}:send:\* \(/;

/** What is refused, and what the message has to name. */
const REFUSED: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
  ['a command', () => limited.set(OURS, 'canary'), /: the command set \(/],
  ['a key', () => limited.get(KEY), OF_SEND],
  [
    'a channel',
    () => limited.publish('{nq:a}:hold:hints', 'canary'),
    /: a channel of \{nq:a\}:hold/,
  ],
  ['a command inside a script', () => script(SET, OURS, 'canary'), IN_SCRIPT],
  ['a key of a script', () => script(`return redis.call('GET', KEYS[1])`, KEY, 'canary'), OF_SEND],
  [
    'a key that only the script names',
    () => script(`return redis.call('GET', ARGV[1])`, OURS, KEY),
    /: a key of \{nq:a\}:ours \(/,
  ],
  ['a script of another library', () => limited.eval(SET, 1, OURS, 'canary'), IN_SCRIPT],
];

describe('a permission that the Redis user lacks', () => {
  it.each(REFUSED)('is named, and nothing of the arguments: %s', async (_what, refused, named) => {
    const error: unknown = await refused().catch((reason: unknown) => reason);
    expect(redisErrorCode(error)).toBe('NOPERM');
    expect(isProgramError(error)).toBe(false);
    const failure = redisFailure(error);
    expect(failure).toMatchObject({ code: 'QUEUE_REFUSED' });
    expect(failure.message).toMatch(named);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain('canary');
  });
});

describe('a producer whose user lacks a permission', () => {
  const NOTICE = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };

  it.each([
    ['a command of a script', ['+@all', '-hmset', '-hset', '~*']],
    ['the keys of the queue', ['+@all', '~elsewhere*']],
    ['scripts', ['+@all', '-eval', '-evalsha', '~*']],
  ])('is refused with the reason, at once: %s', async (_what, rights) => {
    await admin.call('ACL', 'SETUSER', 'producer', 'reset', 'on', '>secret', ...rights);
    const queue = new NoticeQueue({
      redis: { url: server.url, username: 'producer', password: 'secret' },
      enqueueTimeoutMs: 30_000,
    });
    onTestFinished(() => queue.close());
    const error: unknown = await queue.send(NOTICE).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NoticeQueueError);
    expect(error).toMatchObject({ code: 'QUEUE_REFUSED' });
    expect(String(error)).toMatch(/lacks a permission: (?:the command |a command |a key of )/);
  });
});

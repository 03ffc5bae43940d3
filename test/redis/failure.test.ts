import { describe, expect, it } from 'vitest';
import {
  isRefusedLastingly,
  redisErrorCode,
  redisFailure,
  WriteRefused,
} from '../../src/redis/failure.ts';
import { ScriptFailure } from '../../src/redis/script.ts';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

/** Replies of Redis with which it executes nothing, in its own words. */
const REFUSALS = [
  ["OOM command not allowed when used memory > 'maxmemory'.", /out of memory/],
  ["READONLY You can't write against a read only replica.", /read-only replica/],
  ['MISCONF Redis is configured to save RDB snapshots, but it is unable to', /to disk/],
  ['NOREPLICAS Not enough good replicas to write.', /too few replicas/],
  ['LOADING Redis is loading the dataset in memory', /still reading its data/],
  [
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    /its master/,
  ],
  ['CLUSTERDOWN Hash slot not served', /Cluster is down/],
  ['CLUSTERDOWN The cluster is down', /Cluster is down/],
  ['TRYAGAIN Multiple keys request during rehashing of slot', /moving slots/],
  ['BUSY Redis is busy running a script.', /busy with a script/],
  [
    'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
    /a failover/,
  ],
] as const;

describe('a refusal of Redis', () => {
  it.each(REFUSALS)('that may pass is QUEUE_REFUSED with its reason: %s', (message, reason) => {
    const [code = ''] = message.split(' ');
    for (const error of [reply(message), new ScriptFailure('settle', code)]) {
      const failure = redisFailure(error);
      expect(failure).toBeInstanceOf(WriteRefused);
      expect(failure.code).toBe('QUEUE_REFUSED');
      expect(failure.message).toMatch(reason);
      expect(redisErrorCode(error)).toBe(code);
      expect(isRefusedLastingly(error)).toBe(false);
    }
  });

  it.each([
    ['NOAUTH Authentication required.', /REDIS_PASSWORD/],
    ['WRONGPASS invalid username-password pair or user is disabled.', /user or the password/],
    ["NOPERM this user has no permissions to run the 'get' command", /lacks a permission/],
    ["CROSSSLOT Keys in request don't hash to the same slot", /same slot/],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', /another type/],
  ])('that settings cause is QUEUE_REFUSED, and not repeated: %s', (message, reason) => {
    const failure = redisFailure(reply(message));
    expect(failure).not.toBeInstanceOf(WriteRefused);
    const [code = ''] = message.split(' ');
    for (const error of [reply(message), new ScriptFailure('settle', code)]) {
      expect(isRefusedLastingly(error)).toBe(true);
    }
    expect(failure.code).toBe('QUEUE_REFUSED');
    expect(failure.message).toMatch(reason);
  });
});

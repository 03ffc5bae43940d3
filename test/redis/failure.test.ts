import { describe, expect, it } from 'vitest';
import {
  isProgramError,
  isRefusedLastingly,
  redisErrorCode,
  redisErrorFields,
  redisFailure,
  ScriptFailure,
  WriteRefused,
} from '../../src/redis/failure.ts';

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
  ['BUSY Redis is busy running a script.', /busy with a script/],
  [
    'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
    /a failover/,
  ],
] as const;

describe('a refusal of Redis', () => {
  it.each(REFUSALS)('that may pass is QUEUE_REFUSED with its reason: %s', (message, reason) => {
    const [code = ''] = message.split(' ');
    for (const error of [reply(message), new ScriptFailure('settle', { code })]) {
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
    ['WRONGTYPE Operation against a key holding the wrong kind of value', /another type/],
  ])('that settings cause is QUEUE_REFUSED, and not repeated: %s', (message, reason) => {
    const failure = redisFailure(reply(message));
    expect(failure).not.toBeInstanceOf(WriteRefused);
    const [code = ''] = message.split(' ');
    for (const error of [reply(message), new ScriptFailure('settle', { code })]) {
      expect(isRefusedLastingly(error)).toBe(true);
    }
    expect(failure.code).toBe('QUEUE_REFUSED');
    expect(failure.message).toMatch(reason);
  });
});

/** Replies about the command or the script itself: by Redis 7, then by Redis 6. */
const MISTAKES = [
  "ERR user_script:1: attempt to index local 'x' (a nil value) script: cf0e, on @user_script:1.",
  "ERR user_script:1: Script attempted to access nonexistent global variable 'f' script: b9ec, on @user_script:1.",
  'ERR Unknown Redis command called from script script: a734, on @user_script:1.',
  'ERR Wrong number of args calling Redis command from script script: f187, on @user_script:1.',
  'ERR value is not an integer or out of range script: c243, on @user_script:1.',
  "ERR Error compiling script (new function): user_script:1: '=' expected near '1'",
  "ERR unknown command 'nocmd', with args beginning with: '01012345678'",
  "ERR wrong number of arguments for 'get' command",
  'ERR syntax error',
  "ERR Error running script (call to f_1): @user_script:1: user_script:1: attempt to index local 'x'",
  'ERR Error running script (call to f_1): @user_script: 1: Unknown Redis command called from Lua script',
];

/** Replies that may be over at the next try, and what is shown of them. */
const PASSING = [
  [
    'ERR max daily request limit exceeded. Limit: 500000, Usage: 500001. See https://secret.example',
    'max daily request limit exceeded Limit ... Usage ...',
  ],
  [
    'ERR Script killed by user with SCRIPT KILL... script: 694a, on @user_script:1.',
    'Script killed by user with SCRIPT KILL script ... on ...',
  ],
  [
    'ERR Error running script (call to f_1): @user_script:1: Script killed by user with SCRIPT KILL...',
    'Error running script ... to ... Script killed by user with',
  ],
  ['ERR upstream connection timed out to 10.0.0.7:6379', 'upstream connection timed out to ...'],
  ['upstream failure', 'upstream failure'],
  ['ERR 01012345678', undefined],
  ['QUOTA secret-of-somebody', undefined],
] as const;

describe('an error reply', () => {
  it.each(MISTAKES)('about a command or a script is a program error: %s', (message) => {
    expect(isProgramError(reply(message))).toBe(true);
  });

  it.each(PASSING)('that is about anything else may pass: %s', (message, words) => {
    expect(isProgramError(reply(message))).toBe(false);
    expect(redisErrorFields(reply(message)).reply).toBe(words);
    expect(redisFailure(reply(message)).code).toBe('QUEUE_UNAVAILABLE');
  });

  it.each([...REFUSALS.map(([message]) => message), 'WRONGTYPE Operation'])(
    'with a code of its own is not a program error: %s',
    (message) => expect(isProgramError(reply(message))).toBe(false),
  );
});

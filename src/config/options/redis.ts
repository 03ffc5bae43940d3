import type { OptionRows } from '../option.ts';

/** How to reach Redis: one server, the servers that Sentinels name, or a Cluster. */
export const REDIS_OPTIONS = {
  REDIS_URL: {
    kind: 'url',
    meaning:
      'Address of Redis; `rediss:` means TLS. Beside REDIS_SENTINELS or REDIS_CLUSTER its host is not used.',
    protocols: ['redis:', 'rediss:'],
    userinfo: true,
    path: 'database',
    expected:
      'redis:// or rediss:// with a host and at most a database number, without query or fragment, special characters of the password percent-encoded',
    default: 'redis://127.0.0.1:6379',
  },
  REDIS_USERNAME: {
    kind: 'text',
    meaning: 'User name at Redis; takes precedence over the one in REDIS_URL.',
    pattern: /^[^\s\p{Cc}]{1,128}$/u,
    expected: '1 to 128 characters without spaces',
  },
  REDIS_PASSWORD: {
    kind: 'secret',
    meaning: 'Password at Redis; takes precedence over the one in REDIS_URL.',
    pattern: /^\P{Cc}{1,1024}$/u,
    expected: '1 to 1024 characters on one line',
  },
  REDIS_SENTINELS: {
    kind: 'list',
    meaning: 'The Sentinels that know the present master.',
    default: [],
  },
  REDIS_SENTINEL_NAME: {
    kind: 'text',
    meaning: 'Name under which the Sentinels know the master.',
    pattern: /^[A-Za-z0-9._-]{1,128}$/,
    expected: '1 to 128 letters, digits, dots, hyphens and underscores',
  },
  REDIS_SENTINEL_PASSWORD: {
    kind: 'secret',
    meaning: 'Password at the Sentinels themselves.',
    pattern: /^\P{Cc}{1,1024}$/u,
    expected: '1 to 1024 characters on one line',
  },
  REDIS_CLUSTER: {
    kind: 'list',
    meaning: 'Some nodes of a Redis Cluster; the others are found through them.',
    default: [],
  },
  REDIS_TLS_CA_FILE: {
    kind: 'file',
    meaning: 'Path of the PEM certificates that Redis is verified with, for a private authority.',
  },
  REDIS_PREFIX: {
    kind: 'text',
    meaning: 'Begins every key, so that installations can share one Redis.',
    pattern: /^[A-Za-z0-9_.-]{1,64}$/,
    expected: '1 to 64 letters, digits, dots, hyphens and underscores',
    default: 'notices',
    note: 'A changed prefix is another, empty queue: what waits under the old one stays there.',
  },
  REDIS_CONNECT_TIMEOUT_MS: {
    kind: 'integer',
    meaning: 'How long one try to connect to Redis may take.',
    unit: 'milliseconds',
    min: 100,
    max: 60_000,
    default: 2_000,
  },
  REDIS_PERSISTENCE: {
    kind: 'choice',
    meaning:
      'What becomes of a Redis that keeps nothing on disk: workers `require` better, only `warn`, or `ignore` it. Snapshots without an append-only file are only warned of.',
    choices: ['require', 'warn', 'ignore'],
    default: 'warn',
  },
  REDIS_MEMORY_HEADROOM: {
    kind: 'integer',
    meaning: 'Part of the memory of Redis that should be free; below it workers warn.',
    unit: 'percent',
    min: 0,
    max: 90,
    default: 10,
  },
  REDIS_WATCH_MS: {
    kind: 'integer',
    meaning: 'How often a worker looks whether Redis is still fit for the queue.',
    unit: 'milliseconds',
    min: 500,
    max: 3_600_000,
    default: 15_000,
  },
} as const satisfies OptionRows;

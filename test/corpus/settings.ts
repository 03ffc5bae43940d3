import type { Case } from './case.ts';

const VARIABLES = 'config/variables.test.ts';
const REDIS = 'redis/suitability.integration.test.ts';
const USAGE = 'cli/usage.test.ts';

/** Configuration and command line. */
export const SETTING_CASES: readonly Case[] = [
  [
    '77 a key that is missing, blank or has a line break',
    VARIABLES,
    'is an error where the service is called',
  ],
  ['78 an address with credentials, a query, or without TLS', VARIABLES, "'https://user@host'"],
  ['79 an unknown version of the API', VARIABLES, "'v3'"],
  ['80 a number that is none, or out of its bounds', VARIABLES, "'1e3'"],
  [
    '81 deadlines that contradict each other',
    'config/constants.test.ts',
    'every time fits into those around it',
  ],
  ['82 a Redis that evicts or keeps nothing', REDIS, "'evicts'"],
  ['83 a Redis that is too old', REDIS, "'too old'"],
  ['84 a prefix that would break the slots of a cluster', VARIABLES, "'a{b}'"],
  [
    '85 a misspelt policy',
    'batch/import/import-bad-input.integration.test.ts',
    "{ delivery: 'twice' }",
  ],
  ['86 an unknown flag', USAGE, 'wrong use: exit code 2'],
  [
    '87 a time without a zone, or that does not exist',
    'cli/notices/send.integration.test.ts',
    'names what is wrong',
  ],
  ['88 a dry run writes nothing', 'cli/batches/batches-import.integration.test.ts', '--dry-run'],
  ['89 output that is closed', USAGE, 'ends quietly when nobody reads its output'],
  [
    '90 a clock that differs from that of Redis',
    'doctor/judge-redis.test.ts',
    "'redis.clock', { aheadMs: 1_500 }",
  ],
];

import type { Case } from './case.ts';

const JOB = 'contracts/job.test.ts';
const MALFORMED = 'workers/send/malformed-job.integration.test.ts';
const ACQUIRE = 'token/acquire.integration.test.ts';

/** Jobs, and what else is in Redis. */
export const QUEUED_CASES: readonly Case[] = [
  [
    '61 a job whose hash is gone',
    'workers/queue/unreadable-job.integration.test.ts',
    'that is gone',
  ],
  ['62 data that is not JSON', MALFORMED, "'text that is not JSON'"],
  ['63 options that are not JSON', MALFORMED, "'options that are not JSON'"],
  ['64 null, a list, or no data', JOB, '{ data: null, message'],
  ['65 a later version is refused', JOB, '{ ...good, v: 3 }'],
  ['66 an earlier version is refused', JOB, '{ ...good, v: 0 }'],
  ['67 the data decide, whatever the job is called', MALFORMED, "queue.add('send', {})"],
  ['68 a deadline that is no time', JOB, 'expiresAt: 1.5'],
  ['69 a key of another type', 'token/redis-away.integration.test.ts', 'WRONGTYPE'],
  [
    '70 ids that BullMQ takes',
    'producer/planned-job.test.ts',
    'names the job so that BullMQ takes the id',
  ],
  ['71 data that are too large or nested too deeply', JOB, 'nested too deeply or too large'],
  ['72 a stored token that cannot be used', 'token/token-seal.test.ts', 'answers nothing for'],
  ['73 a lock without a lifetime', ACQUIRE, "'a lock without ttl is removed'"],
  ['74 any state of lock and fence', ACQUIRE, 'in any state'],
  [
    '75 an attempt that never ended is unknown',
    'fleet/intents/intents.integration.test.ts',
    'never ended makes',
  ],
  ['76 a payload that cannot be decrypted', 'payload/chunk-payload.test.ts', 'cannot be decrypted'],
];

import { DELIVERY_POLICIES } from '../../contracts/delivery.ts';
import type { OptionRows } from '../option.ts';

/** 32 bytes in base64 (43 characters, with or without the padding, either alphabet) or hex. */
const KEY = /^(?:[0-9A-Fa-f]{64}|[\w+/-]{42}[AEIMQUYcgkosw048]=?)$/;

/** How notices are handed to the queue. */
export const QUEUE_OPTIONS = {
  CHUNK_SIZE: {
    kind: 'integer',
    meaning: 'The most contacts in one job, which is one send call; a longer notice is cut.',
    unit: 'contacts',
    min: 1,
    max: 10_000,
    default: 1_000,
    note: 'Raised: one unknown outcome concerns more contacts, and the service may refuse the request as too large. Lowered: more calls.',
  },
  DELIVERY: {
    kind: 'choice',
    meaning:
      'What happens to a single notice whose outcome is unknown: at-least-once sends it again, at-most-once sets it aside until a person decides.',
    choices: DELIVERY_POLICIES,
    default: 'at-least-once',
    note: 'at-least-once: the service may take such a notice twice. at-most-once: two more round trips to Redis for each send.',
  },
  IDEMPOTENCY_WINDOW_MS: {
    kind: 'integer',
    meaning: 'For how long an idempotency key is remembered.',
    unit: 'milliseconds',
    min: 1_000,
    max: 2_592_000_000,
    default: 86_400_000,
    note: 'Raised: more memory in Redis. Lowered: a caller that tries again later sends a second time.',
  },
  ENQUEUE_TIMEOUT_MS: {
    kind: 'integer',
    meaning: 'How long Redis may take to accept a notice before the caller gets QUEUE_UNAVAILABLE.',
    unit: 'milliseconds',
    min: 50,
    max: 60_000,
    default: 2_000,
  },
  HIGH_WATER: {
    kind: 'integer',
    meaning:
      'How many contacts of batches may wait in Redis before imports pause until workers have sent some.',
    unit: 'contacts',
    min: 1,
    max: 1_000_000_000,
    default: 1_000_000,
    note: 'Raised: more memory in Redis, about 25 bytes for each contact. Lowered: workers may run out of work while an import catches up.',
  },
  BATCH_RETENTION_MS: {
    kind: 'integer',
    meaning: 'For how long a batch, its counters and what was not accepted are kept after its end.',
    unit: 'milliseconds',
    min: 60_000,
    max: 31_536_000_000,
    default: 2_592_000_000,
    note: 'Lowered: contacts that failed are gone sooner, and a list that is imported again is sent again sooner.',
  },
  PAYLOAD_KEY: {
    kind: 'secret',
    meaning:
      'Key that seals the contacts of batches while they wait in Redis (AES-256-GCM); importers and workers need the same. They are not sealed without it.',
    pattern: KEY,
    expected: '32 random bytes as base64 or as 64 hexadecimal digits',
  },
  PAYLOAD_KEY_PREVIOUS: {
    kind: 'secret',
    meaning:
      'The PAYLOAD_KEY before this one: it still opens what it sealed, and seals nothing more.',
    pattern: KEY,
    expected: '32 random bytes as base64 or as 64 hexadecimal digits',
  },
  FIND_KEY: {
    kind: 'secret',
    meaning:
      'Key under which phone numbers are hashed (HMAC-SHA256), so that `notices find` finds what became of one; producers, importers and whoever looks need the same. Nothing is kept to find by without it.',
    pattern: KEY,
    expected: '32 random bytes as base64 or as 64 hexadecimal digits',
    note: 'It costs Redis about 4 bytes for each contact of a batch and 100 to 170 for each contact of a single notice, for as long as FIND_RETENTION_MS says. What was hashed under another key is not found.',
  },
  FIND_RETENTION_MS: {
    kind: 'integer',
    meaning:
      'How long after it was handed over a notice or a list can be found by a phone number, with FIND_KEY.',
    unit: 'milliseconds',
    min: 60_000,
    max: 7_776_000_000,
    default: 604_800_000,
    note: 'Raised: more memory in Redis, also for what was accepted long ago.',
  },
} as const satisfies OptionRows;

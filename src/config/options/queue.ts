import type { OptionRows } from '../option.ts';

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
} as const satisfies OptionRows;

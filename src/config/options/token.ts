import type { OptionRows } from '../option.ts';

/** How the fleet shares one token. */
export const TOKEN_OPTIONS = {
  TOKEN_LOCK_TTL_MS: {
    kind: 'integer',
    meaning: 'When the lock of a process that died while it issued a token falls to another one.',
    unit: 'milliseconds',
    min: 500,
    max: 300_000,
    default: 15_000,
    note: 'Raised: after such a death the queue stands longer. Lowered: a slow issuance may be done twice.',
  },
  TOKEN_GRACE_MS: {
    kind: 'integer',
    meaning:
      'How young a token must be for a 401 to be answered by trying it once more, since the service may not know it everywhere yet.',
    unit: 'milliseconds',
    min: 0,
    max: 60_000,
    default: 1_000,
  },
  TOKEN_MIN_AGE_MS: {
    kind: 'integer',
    meaning:
      'How young a token must be for a 403 to be answered likewise; a 403 is most often not the fault of the token.',
    unit: 'milliseconds',
    min: 0,
    max: 600_000,
    default: 10_000,
    note: 'Lowered: a sender key that is refused with 403 makes the fleet issue more tokens.',
  },
  TOKEN_BUDGET: {
    kind: 'integer',
    meaning:
      'The most tokens that the fleet issues within TOKEN_BUDGET_WINDOW_MS; more of them is the hold `token-contested`.',
    unit: 'issuances',
    min: 1,
    max: 100_000,
    default: 400,
    note: 'Lowered below one per TOKEN_MIN_AGE_MS: notices that the service refuses with 403, each of which asks for a renewal, can hold the whole queue.',
  },
  TOKEN_BUDGET_WINDOW_MS: {
    kind: 'integer',
    meaning: 'Time over which TOKEN_BUDGET counts.',
    unit: 'milliseconds',
    min: 1_000,
    max: 86_400_000,
    default: 3_600_000,
  },
  TOKEN_REFUSED_MIN_MS: {
    kind: 'integer',
    meaning:
      'For how long the whole fleet remembers that an issuance failed, the first time; it doubles with each further one.',
    unit: 'milliseconds',
    min: 50,
    max: 60_000,
    default: 2_000,
  },
  TOKEN_REFUSED_MAX_MS: {
    kind: 'integer',
    meaning: 'The longest time that a failed issuance is remembered.',
    unit: 'milliseconds',
    min: 50,
    max: 60_000,
    default: 60_000,
    note: 'Raised: after the key pair was mended, the queue resumes later.',
  },
  TOKEN_RENEW_BEFORE_MS: {
    kind: 'integer',
    meaning: 'How long before its expiry, where that is known, a token is renewed.',
    unit: 'milliseconds',
    min: 0,
    max: 3_600_000,
    default: 60_000,
    note: 'It is never more than half of the life of the token.',
  },
} as const satisfies OptionRows;

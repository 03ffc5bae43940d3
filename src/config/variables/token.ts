import { integer, variable, duration } from '../variable.ts';

/** How the workers of the fleet share one token. */
export const tokenVariables = {
  lockTtlMs: variable('TOKEN_LOCK_TTL_MS', duration(500, 300_000).default(15_000), {
    description:
      'Time to live of the lock of token issuance: after a process crashed while issuing, another one may issue once it has passed.',
    note: 'Raised: after such a crash the queue waits longer. Lowered: a slow issuance may happen twice.',
  }),
  graceMs: variable('TOKEN_GRACE_MS', duration(0, 60_000).default(1_000), {
    description:
      'A token younger than this that gets a 401 is tried once more, because parts of the service may not know it yet; one younger than ten times this, also after a 403.',
  }),
  budget: variable('TOKEN_BUDGET', integer('issuances', 1, 100_000).default(200), {
    description:
      'Maximum number of tokens that the fleet issues within TOKEN_BUDGET_WINDOW_MS; more of them start the hold `token-contested`.',
    note: 'It must exceed the lifetimes of a token in the window: the default allows tokens that live four seconds. Lowered: another program that issues tokens with the same key pair is reported sooner, but renewals for refusals that a new token does not end can spend it, which holds the whole queue: one for each code in ten minutes, and one for each attempt that is refused with a code about the token (`INVALID_ACCESS_KEY`, `TOKEN_...`) or a 401 without a code.',
  }),
  budgetWindowMs: variable('TOKEN_BUDGET_WINDOW_MS', duration(1_000, 86_400_000).default(600_000), {
    description: 'Time window of TOKEN_BUDGET.',
  }),
  renewBeforeMs: variable('TOKEN_RENEW_BEFORE_MS', duration(0, 3_600_000).default(60_000), {
    description: 'How long before its expiry, where that is known, a token is renewed.',
    note: 'It is never more than half of the lifetime of the token.',
  }),
};

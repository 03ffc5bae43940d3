import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../contracts/delivery.ts';
import { HOLDS, type HoldKind } from '../../contracts/hold.ts';
import { ERROR_CODES, type ErrorCode } from '../../contracts/errors.ts';
import type { SeenWorker } from '../../fleet/heartbeat.ts';
import type { RateLimitStatus } from '../../fleet/rate-limit/rate-limit-state.ts';
import { explainHold, type ExplainedHold } from '../manual-hold.ts';
import { deprecatedPace, type DeprecatedPace } from '../manual-rate-limit.ts';
import type { Status } from '../status.ts';

/*
 * Schemas of the API's answers. The OpenAPI document is made of them, and tests check the answers
 * against them. Callers must ignore unknown fields. Times are Redis time in milliseconds since the
 * epoch; null means "not yet" or "never".
 */

const count = z.int().min(0);
const time = z.int().min(0).describe('milliseconds since the epoch');

/** Sets the name of a schema in the OpenAPI document. */
function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  return schema.meta({ id });
}

const holdKinds = Object.keys(HOLDS) as [HoldKind, ...HoldKind[]];
const errorCodes = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

export const holdAnswer = named(
  'Hold',
  z.looseObject({
    kind: z.enum(holdKinds),
    code: z.string().describe('what caused it; for a manual hold the reason that was given'),
    since: time,
    nextProbeAt: z.number().describe('when one job tries again; without meaning for a manual hold'),
    failedProbes: count,
    reason: z.string(),
    remedy: z.string(),
  }),
) satisfies z.ZodType<ExplainedHold>;

export const workerAnswer = named(
  'Worker',
  z.looseObject({
    id: z.string(),
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    active: count.describe('jobs in progress'),
    concurrency: count.describe('jobs that it takes at the same time'),
    startedAt: time,
    loopDelayMs: z.number().describe('longest recent event loop delay, in milliseconds'),
    ageMs: z.number().describe('milliseconds since its last heartbeat'),
  }),
) satisfies z.ZodType<SeenWorker>;

const tokenAnswer = named(
  'Token',
  z.looseObject({
    token: z
      .looseObject({
        id: z.string().describe('a hash that identifies the token, not the token itself'),
        issuedAt: time,
        ageMs: z.number(),
        expiresAt: time.optional(),
        fence: z.int(),
        issuer: z.string(),
        proven: z.boolean(),
      })
      .optional(),
    refusal: z
      .looseObject({
        hold: z.enum(['credentials', 'token-contested', 'token-unavailable']),
        code: z.enum(errorCodes),
        until: z.number(),
      })
      .optional(),
    issuing: z.boolean(),
    issuances: count.describe('within TOKEN_BUDGET_WINDOW_MS'),
  }),
);

const rate = z.number().min(0);
const limited = {
  configured: rate.describe('the configured limit, in send requests per second; 0 for no limit'),
  fall: z
    .object({ at: time, from: rate, to: rate, risesFrom: time, recoveryMs: z.number() })
    .exactOptional()
    .describe('the last decrease after a 429, also when it is over'),
  now: rate.exactOptional().describe('the limit in force; absent where there is none'),
  lowUntil: z.number().exactOptional().describe('when the decrease is over; absent where it is'),
};
const manualLimit = rate.exactOptional().describe('set manually in its place; 0 for no limit');

export const rateLimitAnswer = named(
  'RateLimit',
  z.object({ ...limited, manual: manualLimit }),
) satisfies z.ZodType<RateLimitStatus>;

export const deprecatedPaceAnswer = named(
  'Pace',
  z.object({ ...limited, byHand: manualLimit }).describe('deprecated name of RateLimit'),
) satisfies z.ZodType<DeprecatedPace>;

export const statusAnswer = named(
  'Status',
  z.looseObject({
    now: time.describe('when it was read: Redis time, milliseconds since the epoch'),
    account: z.string(),
    jobs: z.looseObject({
      waiting: count,
      active: count,
      delayed: count,
      done: count,
      failed: count,
    }),
    oldestWaitingMs: z.number().optional(),
    possiblySentTwice: z
      .object({ notices: count, chunks: count })
      .describe(
        'contacts sent again although the service may have accepted an earlier request: at most so many acceptances are duplicates',
      ),
    prefix: z.string().describe('REDIS_PREFIX'),
    batches: z
      .looseObject({
        pending: count.describe('contacts of all batches that are neither settled nor cancelled'),
        open: count.describe('batches that have not ended; of the newest 200, like all below'),
        openBatches: z.array(
          z.looseObject({
            id: z.string(),
            phase: z.enum(['importing', 'sending', 'paused', 'cancelled']),
            total: count,
            pending: count,
            waits: z.string().optional().describe('why nothing of it is sent, and what to do'),
            stalled: z
              .boolean()
              .describe('no progress, and nothing is known that would explain it'),
            importStopped: z.boolean(),
          }),
        ),
        rejected: count.describe('contacts'),
        unknown: count.describe('contacts that can be resolved'),
      })
      .describe('contacts of batches, and the batches that have not ended, the newest first'),
    unknown: z
      .looseObject({ notices: count, contacts: count })
      .describe('outcomes for a person to decide: single notices, and contacts of batches'),
    hold: holdAnswer.optional(),
    rateLimit: rateLimitAnswer.optional(),
    pace: deprecatedPaceAnswer.optional().meta({ deprecated: true }),
    token: tokenAnswer.optional(),
    workers: z.array(workerAnswer),
    redis: z.looseObject({ version: z.string(), policy: z.string(), address: z.string() }),
  }),
);

/** The status as the API answers it: the hold with its texts, and fields under deprecated names. */
export type StatusAnswer = Omit<Status, 'hold'> & {
  readonly hold?: ExplainedHold;
  /** Deprecated name of `rateLimit`. */
  readonly pace?: DeprecatedPace;
};

export function statusToJson({ hold, ...status }: Status): StatusAnswer {
  const { rateLimit } = status;
  return {
    ...status,
    ...(hold === undefined ? {} : { hold: explainHold(hold) }),
    ...(rateLimit === undefined ? {} : { pace: deprecatedPace(rateLimit) }),
  };
}

export const batchAnswer = named(
  'Batch',
  z.object({
    id: z.string(),
    phase: z.enum(['importing', 'sending', 'paused', 'cancelled', 'finished']),
    templateCode: z.string(),
    delivery: z.enum(DELIVERY_POLICIES),
    chunkSize: count.describe('contacts of a full chunk'),
    expiresAt: time.nullable(),
    rate: count.describe('limit in contacts per second; 0 for no limit'),
    counts: z
      .object({
        total: count,
        pending: count,
        sending: count.describe('pending contacts in an attempt that is in progress'),
        accepted: count,
        rejected: count,
        unknown: count,
        expired: count,
        cancelled: count,
        possiblySentTwice: count.describe(
          'contacts sent again after an unknown outcome: the most messages that can have arrived twice; not a state',
        ),
        maybeTwice: count.describe('deprecated: the former name of possiblySentTwice'),
      })
      .describe(
        'contacts by state; pending, accepted, rejected, unknown, expired and cancelled add up to the total',
      ),
    begunAt: time,
    importedAt: time.nullable(),
    finishedAt: time.nullable(),
    movedAt: time.nullable(),
    keptUntil: time.nullable(),
    chunks: count,
    rows: count.describe('rows of the list that were read so far'),
    refusedRows: count,
    duplicateRows: count,
    stalled: z
      .boolean()
      .describe('no progress for more than a minute, and nothing is known that would explain it'),
    perSecond: z.number().min(0).describe('average contacts per second since its start'),
    restMs: z
      .number()
      .nullable()
      .describe('remaining time at that rate, in milliseconds; null where nothing of it is sent'),
    lossNear: z
      .object({ contacts: count, keptUntil: time, restMs: z.number() })
      .optional()
      .describe('contacts that were not accepted and will be deleted soon'),
  }),
);

/** A batch as the API answers it, without its notice data, which may hold the number of a sender. */
export type BatchAnswer = z.output<typeof batchAnswer>;

export const problemAnswer = named(
  'Problem',
  z.looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum([...errorCodes, 'DEFECT']),
    issues: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
    retryAfter: z.number().optional().describe('in seconds'),
  }),
);

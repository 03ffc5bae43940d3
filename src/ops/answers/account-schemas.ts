import { z } from 'zod';
import { count, named, time, type Answer } from '../../contracts/answer.ts';
import { FAULTS, holdKind, HOLDS, remedyOf, type Hold } from '../../contracts/hold.ts';
import { workerAnswer } from '../../fleet/heartbeat.ts';
import type { TemplateHold } from '../../fleet/hold/holds.ts';
import { rateLimitAnswer } from '../../fleet/rate-limit/rate-limit-state.ts';
import { redisFacts } from '../../redis/facts.ts';
import { redisFinding } from '../../redis/suitability.ts';
import { tokenAnswer } from '../../token/token-status.ts';
import { batchAnswer } from './batch.ts';

/** A hold, without its texts. */
const holdFacts = z.object({
  kind: holdKind,
  code: z.string().describe('what caused it; for a manual hold the reason that was given'),
  since: time,
  nextProbeAt: z.number().describe('when one job tries again; without meaning for a manual hold'),
  failedProbes: count,
}) satisfies z.ZodType<Hold>;

export const templateHold = holdFacts.extend({
  template: z.string(),
}) satisfies z.ZodType<TemplateHold>;

export const holdAnswer = named(
  'Hold',
  z.object({
    ...holdFacts.shape,
    reason: z.string(),
    fault: z.enum(FAULTS).describe('whose fault it is'),
    remedy: z.string(),
    command: z.string().describe('the command to begin with'),
    section: z.string().describe('of docs/operating.md'),
  }),
);

/** A hold with the texts of its kind and code. */
export type ExplainedHold = z.output<typeof holdAnswer>;

export function explainHold(hold: Hold): ExplainedHold {
  return { ...hold, reason: HOLDS[hold.kind].reason, ...remedyOf(hold.kind, hold.code) };
}

const openBatch = batchAnswer.pick({ id: true, phase: true, paused: true, stalled: true }).extend({
  total: count,
  pending: count,
  startAt: time
    .exactOptional()
    .describe('when its sending starts by itself, where it waits for that time'),
  waits: z.string().exactOptional().describe('why nothing of it is sent, and what to do'),
  continueImport: z
    .string()
    .exactOptional()
    .describe('the command that continues its import; absent where that has not stopped'),
  heldTemplate: z
    .string()
    .exactOptional()
    .describe('its template, where that is held: the list has paused itself'),
});

const redisAnswer = z.object({
  ...redisFacts.shape,
  address: z.string().describe('without user and password'),
  findings: z.array(redisFinding).describe('properties of this Redis that can lose notices'),
});

/** The state of the account at one moment. */
export const statusAnswer = named(
  'Status',
  z.object({
    now: time.describe('when it was read: Redis time, milliseconds since the epoch'),
    headline: z
      .object({
        tone: z.enum(['good', 'warn', 'bad']),
        title: z.string(),
        text: z.string(),
        until: z.number().describe('when it ends by itself').optional(),
        fault: z.enum(FAULTS).optional(),
        command: z.string().describe('the command to begin with').optional(),
        section: z.string().describe('of docs/operating.md').optional(),
        batch: z.string().describe('the list that it is about').optional(),
      })
      .describe('the worst thing that is true'),
    account: z.string(),
    jobs: z.object({ waiting: count, active: count, delayed: count, done: count, failed: count }),
    oldestWaitingMs: z.number().exactOptional(),
    templateHolds: z
      .array(templateHold)
      .describe('templates whose notices and lists wait while others are sent'),
    sendWindows: z.string().describe('SEND_WINDOWS of the workers; empty without it'),
    possiblySentTwice: z
      .object({ notices: count, chunks: count })
      .describe(
        'contacts sent again although the service may have accepted an earlier request: at most so many acceptances are duplicates',
      ),
    prefix: z.string().describe('REDIS_PREFIX'),
    batches: z
      .object({
        pending: count.describe('contacts of all batches that are neither settled nor cancelled'),
        open: count.describe('batches that have not ended; of the newest 200, like `rejected`'),
        openBatches: z.array(openBatch),
        rejected: count.describe('contacts'),
        refused: z
          .array(
            z.object({
              id: z.string(),
              total: count,
              rejected: count,
              code: z.string().describe('of most of them'),
              movedAt: time,
            }),
          )
          .describe('lists with rejected contacts: those rejected throughout, then the latest'),
        unknown: count.describe('contacts of all batches that can be resolved'),
      })
      .describe('contacts of batches, and the batches that have not ended, the newest first'),
    unknown: z
      .object({ notices: count, contacts: count })
      .describe('outcomes for a person to decide: single notices, and contacts of batches'),
    retrying: z
      .object({ notices: count, chunks: count, code: z.string().describe('of the first of them') })
      .exactOptional()
      .describe('what waits for its next attempt, of the 20 notices and chunks that are due next'),
    hold: holdAnswer.exactOptional(),
    rateLimit: rateLimitAnswer.exactOptional(),
    token: tokenAnswer.exactOptional(),
    workers: z.array(workerAnswer),
    differing: z
      .array(z.object({ variable: z.string(), groups: z.array(z.array(z.string())) }))
      .describe('variables in which workers differ, with those that have the same value'),
    redis: redisAnswer,
  }),
);

export type Status = Answer<z.output<typeof statusAnswer>>;

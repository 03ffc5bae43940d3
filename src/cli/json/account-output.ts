import { z } from 'zod';
import { CHECKS, type Finding } from '../../doctor/finding.ts';
import { HOLDS, type HoldKind } from '../../contracts/hold.ts';
import { OUTCOME_KINDS } from '../../contracts/outcome.ts';
import {
  auditEntry,
  deprecatedPaceAnswer,
  holdFacts,
  holdKind,
  rateLimitAnswer,
  statusFacts,
} from '../../ops/answers/account-schemas.ts';
import { count, named, time } from '../../ops/answers/fields.ts';
import type { ParkReport } from '../../ops/restored-notices.ts';
import type { RestoredReport } from '../../ops/restored.ts';
import type { ListedAlert } from '../../ops/alerts/outbox.ts';
import { batchPhase } from './batch-output.ts';

const webhook = z.enum(['alerts', 'events']);

const listedAlert = z.object({
  id: z.string(),
  event: z.string(),
  title: z.string(),
  at: z.iso.datetime(),
  as: z.enum(['waiting', 'posted', 'given up']),
}) satisfies z.ZodType<ListedAlert>;

const restoreReport = z.object({
  event: z.object({
    id: z.string(),
    at: time,
    why: z.enum(['went-back', 'another-line', 'no-epoch', 'gap']),
    copyAt: time.describe('the copy was made then or soon after'),
    missingMs: z.number().describe('upper bound of what is missing'),
    verdict: z.enum(['held', 'warned']),
    missed: z.string().describe('id of the epoch that a process remembered; empty when none did'),
    past: z.array(z.string()).describe('ids of earlier events, newest first'),
  }),
  held: z.boolean(),
  notices: z.object({ jobs: count, contacts: count }),
  batches: z.array(
    z.object({
      batch: z.string(),
      template: z.string(),
      phase: batchPhase,
      importing: z.boolean(),
      contacts: count,
    }),
  ),
}) satisfies z.ZodType<RestoredReport>;

const parkReport = z.object({
  jobs: count,
  contacts: count,
  notHeld: z.boolean().describe('sending is not on hold for an old copy (any more)'),
  stopped: z.boolean().describe('run it again for the rest'),
}) satisfies z.ZodType<ParkReport>;

const finding = named(
  'Finding',
  z.object({
    check: z.enum(CHECKS),
    level: z.enum(['ok', 'warn', 'fail', 'skip']),
    says: z.string(),
    remedy: z.string().exactOptional(),
  }),
) satisfies z.ZodType<Finding>;

const outcome = z.object({
  kind: z.enum(OUTCOME_KINDS),
  code: z.string().optional(),
  confirmed: z.boolean().optional(),
  counted: z.boolean().optional(),
  backoff: z.enum(['far', 'near']).optional(),
  hold: holdKind.optional(),
  forMs: z.number().optional(),
  always: z.boolean().optional(),
  caller: z.enum(['refused', 'waits']).optional(),
  ownAfter: count.optional(),
  behindMs: z.number().optional(),
  final: z.boolean().optional(),
  earlier: z.boolean().optional(),
});

const explainedAnswer = z
  .object({
    status: z.int(),
    body: z.enum(['none', 'json', 'html', 'text', 'broken', 'oversized']),
    code: z.string().optional(),
    message: z.string().optional(),
    rule: z.int().optional().describe('number of the rule in ANSWER_RULES_FILE'),
    row: z.string().describe('name of the row that decides'),
    outcome,
    results: z
      .array(z.object({ outcome: z.string(), code: z.string().optional() }))
      .optional()
      .describe('by contact'),
  })
  .describe('with --answer');

/** What the commands of the account write with `--json`. */
export const ACCOUNT_OUTPUT = {
  status: statusFacts,
  'status-line': z.union([
    statusFacts.extend({ at: z.iso.datetime() }),
    z
      .object({
        at: z.iso.datetime(),
        error: z.object({ code: z.string(), message: z.string() }),
      })
      .describe('Redis is not available'),
  ]),
  'hold-show': z.union([
    z.object({ hold: z.null() }),
    z.object({ hold: holdFacts, reason: z.string(), remedy: z.string() }),
  ]),
  'hold-place': z.object({ hold: holdFacts }),
  'hold-lift': z.object({
    lifted: z.enum(Object.keys(HOLDS) as [HoldKind, ...HoldKind[]]).nullable(),
  }),
  'rate-limit': z.object({
    rateLimit: rateLimitAnswer.nullable(),
    pace: deprecatedPaceAnswer.nullable().meta({ deprecated: true }),
  }),
  'alerts-test': z.union([
    z.object({ id: z.string(), taken: z.literal(true), status: z.int() }),
    z.object({ id: z.string(), taken: z.literal(false), why: z.string() }),
  ]),
  'alerts-list': z.array(listedAlert.extend({ webhook })),
  'alerts-replay': z.object({ id: z.string(), webhook }),
  audit: z.array(auditEntry),
  'restored-show': z.union([z.object({ event: z.null() }), restoreReport]),
  'restored-park': parkReport,
  doctor: z.union([
    z.object({ worst: z.enum(['ok', 'warn', 'fail']), findings: z.array(finding) }),
    explainedAnswer,
  ]),
  config: z.object({
    rows: z.array(
      z.object({
        name: z.string(),
        value: z.string().describe('as text; secrets are masked'),
        from: z.enum(['default', 'environment', 'file']),
      }),
    ),
    answerRules: z.array(z.string()),
    issues: z.array(z.object({ field: z.string(), problem: z.string() })),
  }),
};

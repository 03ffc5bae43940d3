import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { HOLDS, isProbed, MAX_HOLD_REASON, remedyOf } from '../../contracts/hold.ts';
import {
  liftManualHold,
  placeManualHold,
  readHold,
  readTemplateHolds,
  type TemplateHold,
} from '../../fleet/hold/holds.ts';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  rateLimitAnswer,
  readRateLimit,
  setManualRateLimit,
  type RateLimitStatus,
} from '../../fleet/rate-limit/rate-limit-state.ts';
import { shellWord } from '../../format/format.ts';
import { translated } from '../../redis/failure.ts';
import { writeTime } from '../../format/time.ts';
import {
  explainHold,
  holdAnswer,
  templateHold,
  type ExplainedHold,
} from '../answers/account-schemas.ts';
import { appendAudit, withoutNumbers } from '../audit.ts';
import { template } from './fields.ts';
import { operation, type Answer, type OperationContext } from './operation.ts';

const held = z.object({
  hold: holdAnswer.nullable(),
  templates: z.array(templateHold).describe('templates whose notices and lists wait'),
});

async function read({ redis, keys }: OperationContext): Promise<z.output<typeof held>> {
  const [hold, templates] = await translated(
    Promise.all([readHold(redis, keys), readTemplateHolds(redis, keys)]),
  );
  return { hold: hold === undefined ? null : explainHold(hold), templates };
}

const ofTemplate = template
  .optional()
  .describe('only what has this template code; other notices are sent. Default: everything');

export const showHold = operation({
  name: 'hold show',
  help: { group: 'Account', example: 'notices hold place --why "the text is being checked"' },
  summary:
    'The hold in force, with its reason, start, next probe and remedy, and the held templates.',
  answers: 'The hold; null where the queue is not held.',
  needs: 'viewer',
  path: '/api/v1/hold',
  input: z.object({}),
  output: held,
  run: read,
  text: ({ hold, templates }, now) => [
    describeHold(hold ?? undefined, now),
    ...templates.map((one) => `template ${describeTemplateHold(one, now)}`),
  ],
});

export const placeHold = operation({
  name: 'hold place',
  summary: 'Stops sending until the hold is lifted; requests in flight finish.',
  answers: 'The hold in force, and the held templates.',
  needs: 'operator',
  why: 'always',
  maxWhy: MAX_HOLD_REASON,
  path: '/api/v1/hold/place',
  input: z.object({ template: ofTemplate }),
  output: held,
  run: async (context, { template: code }, call) => {
    const { redis, keys } = context;
    // Every page shows it, also to viewers.
    const reason = withoutNumbers(call.why);
    if (await translated(placeManualHold(redis, keys, reason, code))) {
      const target = code === undefined ? 'queue' : `template ${code}`;
      await appendAudit(context, call, { what: 'hold', target, as: 'placed' });
    }
    return read(context);
  },
  text: (answer, now) => {
    if (answer.hold?.kind === 'restored') {
      return [
        'Sending is on hold already, as an old copy of Redis: "notices restored" shows what to do. Nothing was placed.',
      ];
    }
    return [
      ...(answer.hold === null ? [] : ['Sending is on hold. "notices hold lift" resumes it.']),
      ...answer.templates.map((one) => `template ${describeTemplateHold(one, now)}`),
    ];
  },
});

export const liftHold = operation({
  name: 'hold lift',
  summary: 'Lifts the hold in force. If its cause persists, it comes back by itself.',
  answers: 'The kind of the lifted hold; null where the queue, or the template, was not held.',
  needs: 'operator',
  why: 'may',
  path: '/api/v1/hold/lift',
  input: z.object({
    template: ofTemplate,
    kind: holdAnswer.shape.kind
      .optional()
      .describe('the kind that was seen; no other one is lifted'),
  }),
  output: z.object({
    lifted: holdAnswer.shape.kind.nullable(),
    template: z.string().optional().describe('the template that was named'),
  }),
  problems: { 409: 'A hold of another kind is in force.' },
  run: async (context, { template: code, kind }, call) => {
    const { redis, keys } = context;
    const lifted = await translated(liftManualHold(redis, keys, kind, code));
    if (lifted !== undefined && kind !== undefined && lifted !== kind) {
      const detail = `The hold in force is ${lifted} now; read why, then lift that one.`;
      throw new NoticeQueueError('NOT_POSSIBLE', detail);
    }
    if (lifted !== undefined) {
      const target = code === undefined ? 'queue' : `template ${code}`;
      await appendAudit(context, call, { what: 'hold', target, as: `lifted ${lifted}` });
    }
    return { lifted: lifted ?? null, ...(code === undefined ? {} : { template: code }) };
  },
  text: ({ lifted, template: code }) => {
    const of = code === undefined ? '' : ` of template ${code}`;
    return [lifted === null ? `No hold${of} was active.` : `Hold "${lifted}"${of} lifted.`];
  },
});

export function describeHold(hold: Answer<ExplainedHold> | undefined, now: number): string {
  if (hold === undefined) return 'none';
  const { kind, code, nextProbeAt, reason, fault, remedy, command } = hold;
  const since = writeTime(hold.since, now, (span) => `for ${span}`);
  const probe =
    nextProbeAt > now ? `next probe ${writeTime(nextProbeAt, now)}` : 'the next job probes';
  const next = isProbed(kind) ? `${probe}; ` : '';
  return `${kind} (${code}) ${since}: ${reason}; ${next}whose fault: ${fault}; ${remedy}: "${command}"`;
}

export function describeTemplateHold(one: TemplateHold, now: number): string {
  const { template: code, kind, since } = one;
  const { reason } = HOLDS[kind];
  const { remedy } = remedyOf(kind, one.code);
  return `${code} (${one.code}) ${writeTime(since, now, (span) => `for ${span}`)}: ${reason}; ${remedy}: "notices hold lift --template ${shellWord(code)}"`;
}

const PROBLEM = `expected a whole number from 1 to ${MAX_RATE_LIMIT}, "off" or "default"`;

async function limitInForce({ redis, keys, configuredRateLimit }: OperationContext) {
  return { rateLimit: (await translated(readRateLimit(redis, keys, configuredRateLimit))) ?? null };
}

const limited = z.object({ rateLimit: rateLimitAnswer.nullable() });
const limitAnswer = {
  answers: 'The rate limit; null where no limit is or was in force.',
  path: '/api/v1/rate-limit',
  output: limited,
  text: ({ rateLimit }: z.output<typeof limited>, now: number) => [
    describeRateLimit(rateLimit ?? undefined, now),
  ],
} as const;

export const showRateLimit = operation({
  name: 'rate-limit show',
  summary:
    'The rate limit in force, whether it was set manually, and whether a 429 has lowered it.',
  needs: 'viewer',
  ...limitAnswer,
  input: z.object({}),
  run: limitInForce,
});

export const setRateLimit = operation({
  ...limitAnswer,
  name: 'rate-limit set',
  summary: 'Sets the rate limit of all running workers until it is set again.',
  needs: 'operator',
  why: 'over-http',
  maxWhy: MAX_RATE_LIMIT_REASON,
  args: ['rateLimit'],
  input: z.object({
    rateLimit: z
      .union(
        [
          z.int(PROBLEM).min(1, PROBLEM).max(MAX_RATE_LIMIT, PROBLEM),
          z.enum(['off', 'default'], PROBLEM),
        ],
        PROBLEM,
      )
      .describe(
        'send requests per second of all workers together; "off" for no limit, "default" for the configured limit',
      ),
  }),
  run: async (context, { rateLimit: limit }, call) => {
    const { redis, keys } = context;
    const value = limit === 'default' ? undefined : limit === 'off' ? 0 : limit;
    await translated(setManualRateLimit(redis, keys, value));
    await appendAudit(context, call, { what: 'rate-limit', target: 'queue', as: String(limit) });
    return limitInForce(context);
  },
});

const NO_LIMIT = 'no limit';
const UNIT = 'send requests per second';

/** Describes the rate limit in one line: the limit in force, the one set, and why it is lower. */
export function describeRateLimit(status: RateLimitStatus | undefined, now: number): string {
  if (status === undefined) return NO_LIMIT;
  const { configured, manual, fall, lowUntil } = status;
  const limit = manual ?? configured;
  const origin = manual === undefined ? '' : ', set manually';
  if (fall === undefined || lowUntil === undefined) {
    return `${limit === 0 ? NO_LIMIT : `${limit} ${UNIT}`}${origin}`;
  }
  const rounded = (perSecond: number) => String(Math.round(perSecond * 10) / 10);
  const of = limit === 0 ? '' : ` of ${limit}`;
  const recovered = limit === 0 ? 'no limit again' : `back at ${limit}`;
  const cause = `429 ${writeTime(fall.at, now)} at ${rounded(fall.from)}/s`;
  const recovery = `${recovered} ${writeTime(lowUntil, now, (span) => `in ${span}`)}`;
  return `${rounded(status.now ?? limit)}${of} ${UNIT}${origin}: ${cause}; ${recovery}`;
}

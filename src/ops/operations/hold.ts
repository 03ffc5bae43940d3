import { z } from 'zod';
import { HOLDS, isProbed, MAX_HOLD_REASON, remedyOf, type Hold } from '../../contracts/hold.ts';
import type { TemplateHold } from '../../fleet/hold/template-hold.ts';
import { writeTime } from '../../format/time.ts';
import { shellWord } from '../../format/format.ts';
import { holdAnswer, templateHold } from '../answers/account-schemas.ts';
import { template } from './fields.ts';
import { operation, type Answer, type OperationContext } from './operation.ts';

const held = z.object({
  hold: holdAnswer.nullable(),
  templates: z.array(templateHold).describe('templates whose notices and lists wait'),
});

/** Loaded when one runs: it loads BullMQ, which the help of a command does not need. */
const functions = () => import('../manual-hold.ts');

async function read(context: OperationContext): Promise<z.output<typeof held>> {
  const { holdInForce, templateHolds } = await functions();
  const [hold, templates] = await Promise.all([holdInForce(context), templateHolds(context)]);
  return { hold: hold ?? null, templates };
}

const heldLines = ({ hold, templates }: Answer<z.output<typeof held>>, now: number) => [
  describeHold(hold ?? undefined, now),
  ...templates.map((one) => `template ${describeTemplateHold(one, now)}`),
];

const ofTemplate = template
  .optional()
  .describe('only what has this template code; other notices are sent. Default: everything');

export const showHold = operation({
  name: 'hold show',
  summary:
    'The hold in force, with its reason, start, next probe and remedy, and the held templates.',
  answers: 'The hold; null where the queue is not held.',
  needs: 'viewer',
  path: '/api/v1/hold',
  input: z.object({}),
  output: held,
  run: read,
  text: heldLines,
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
  run: async (context, { template: code }, actor) => {
    const { holdTemplateAudited, placeAuditedHold } = await functions();
    if (code === undefined) await placeAuditedHold(context, actor);
    else await holdTemplateAudited(context, code, actor);
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
  run: async (context, { template: code, kind }, actor) => {
    const { liftAuditedHold, liftTemplateAudited } = await functions();
    const lifted =
      code === undefined
        ? await liftAuditedHold(context, actor, kind)
        : await liftTemplateAudited(context, code, actor, kind);
    return { lifted: lifted ?? null, ...(code === undefined ? {} : { template: code }) };
  },
  text: ({ lifted, template }) => {
    const of = template === undefined ? '' : ` of template ${template}`;
    return [lifted === null ? `No hold${of} was active.` : `Hold "${lifted}"${of} lifted.`];
  },
});

/** Describes a hold in one line: kind, reason, duration, next probe, remedy. */
export function describeHold(hold: Hold | undefined, now: number): string {
  if (hold === undefined) return 'none';
  const { reason } = HOLDS[hold.kind];
  const { fault, remedy, command } = remedyOf(hold.kind, hold.code);
  const since = writeTime(hold.since, now, (span) => `for ${span}`);
  const rest = hold.nextProbeAt - now;
  const probe = rest > 0 ? `next probe ${writeTime(hold.nextProbeAt, now)}` : 'the next job probes';
  const next = isProbed(hold.kind) ? `${probe}; ` : '';
  return `${hold.kind} (${hold.code}) ${since}: ${reason}; ${next}whose fault: ${fault}; ${remedy}: "${command}"`;
}

/** Describes the hold of a template in one line. */
export function describeTemplateHold(one: TemplateHold, now: number): string {
  const { template: code, kind, since } = one;
  const { reason } = HOLDS[kind];
  const { remedy } = remedyOf(kind, one.code);
  return `${code} (${one.code}) ${writeTime(since, now, (span) => `for ${span}`)}: ${reason}; ${remedy}: "notices hold lift --template ${shellWord(code)}"`;
}

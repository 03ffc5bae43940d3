import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { InputError } from '../../contracts/errors.ts';
import { closedHours } from '../../contracts/send-windows.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { endJob } from '../../notices/cancel.ts';
import {
  countWaiting,
  groupWaiting,
  WAITING_PAGE,
  WAITING_STATES,
  waitingNotices,
  type WaitingFilter,
  type WaitingGroup,
  type WaitingNotice,
} from '../../notices/waiting.ts';
import { count, time } from '../../contracts/answer.ts';
import { contactsOfJob } from '../../payload/sealed-job.ts';
import { redisFailure } from '../../redis/failure.ts';
import { appendAudit, auditSearch, type Actor } from '../audit.ts';
import { withNumber } from '../entries.ts';
import {
  msAhead,
  number,
  oneOf,
  rate,
  template,
  timesOf,
  waitAfter,
  waitMs,
  whole,
} from './fields.ts';
import { operation, redisNow, type OperationCall, type OperationContext } from './operation.ts';

/** What selects notices that wait. */
const select = {
  template: template.optional().describe('only with this template code'),
  state: oneOf(WAITING_STATES)
    .optional()
    .describe('only those that wait for a worker, or for their time or next attempt'),
  queuedAfter: timesOf('queued').since,
  queuedBefore: timesOf('queued').before,
  number: number.optional().describe('only with this phone number; a notice as a whole'),
};

type Select = z.output<z.ZodObject<typeof select>>;

/** A search for a number is recorded: what it selects tells what the number is to be sent. */
async function filterOf(
  context: OperationContext,
  { template, state, queuedAfter: since, queuedBefore: before, number: digits }: Select,
  actor: Actor,
): Promise<WaitingFilter> {
  const filter = { template, state, since, before };
  if (digits === undefined) return filter;
  await auditSearch(context, actor, digits);
  const also = ({ data, id }: WaitingNotice) =>
    withNumber(digits, contactsOfJob(data, id, context.sealing)).length > 0;
  return { ...filter, also };
}

const group = z.object({
  state: z.enum(WAITING_STATES),
  template: z.string().describe('empty where the data cannot be read'),
  notices: count,
  contacts: count,
  oldest: time.describe('when the oldest was queued'),
  newest: time.describe('when the newest was queued'),
  hours: z.string().optional().describe('when its sending hours open, where they are closed'),
});

function groupLines(groups: readonly z.output<typeof group>[], now: number): string[] {
  return table([
    ['STATE', 'TEMPLATE', 'NOTICES', 'CONTACTS', 'OLDEST', 'NEWEST'],
    ...groups.map((one) => [
      one.hours === undefined ? one.state : `waiting for ${one.hours}`,
      one.template,
      formatCount(one.notices),
      formatCount(one.contacts),
      writeTime(one.oldest, now),
      writeTime(one.newest, now),
    ]),
  ]);
}

const sumOf = (groups: readonly WaitingGroup[]) => ({
  notices: groups.reduce((sum, one) => sum + one.notices, 0),
  contacts: groups.reduce((sum, one) => sum + one.contacts, 0),
});

/** Notices that are read over HTTP where no number is asked for. */
const MOST_READ = 2_000;

/** Requests per caller and minute: each may read every notice that waits. */
const PER_MINUTE = 30;

export const listWaiting = operation({
  name: 'waiting',
  help: {
    group: 'Single notices',
    example: 'notices waiting --template ORDER_SHIPPED --queued-after 2h',
  },
  summary: 'Sums up the single notices that wait, by template; a preview of cancelling them.',
  answers: 'The groups, the largest first.',
  needs: 'viewer',
  path: '/api/v1/waiting',
  perMinute: PER_MINUTE,
  input: z.object({
    ...select,
    most: whole(1, 1_000_000_000)
      .optional()
      .describe(`how many are read at most. Default: all; over HTTP ${MOST_READ}`),
  }),
  output: z.object({
    at: time.describe('when it was read; as `queuedBefore` nothing later is cancelled'),
    notices: count,
    contacts: count,
    groups: z.array(group),
    complete: z.boolean().describe('false where not all were read'),
  }),
  run: async (context, { most: asked, ...input }, call) => {
    const { redis, keys } = context;
    const { signal, bounded } = call;
    const filter = await filterOf(context, input, call);
    const most = asked ?? (bounded === true ? MOST_READ : Infinity);
    const at = await redisNow(redis);
    const complete = (await countWaiting(redis, keys)) <= most;
    const found = await groupWaiting(redis, keys, filter, signal, most);
    const sendWindows = (await redis.hget(keys.account, 'sendWindows')) ?? '';
    const groups = found.map((one) => {
      const closed = closedHours(sendWindows, one.template, at);
      return closed === undefined ? one : { ...one, hours: closed.words };
    });
    return { at, ...sumOf(groups), groups, complete: complete && signal?.aborted !== true };
  },
  text: ({ groups, notices, contacts, complete }, now) => [
    ...(groups.length === 0 ? ['No single notice waits.'] : groupLines(groups, now)),
    ...(groups.length > 1
      ? [`${countOf(notices, 'notice')}, ${countOf(contacts, 'contact')} in all.`]
      : []),
    ...(complete ? [] : ['Not all that wait were read.']),
  ],
});

const cancelInput = z.object({
  ...select,
  limit: whole(1, 1_000_000_000).optional().describe('most notices'),
  rate: rate.describe('most notices per second'),
  releaseKey: z
    .boolean()
    .optional()
    .describe('release their idempotency keys, so that they can be sent anew'),
});

export const cancelSelected = operation({
  name: 'cancel',
  summary: 'Cancels the single notices that wait and match, the newest first.',
  answers: 'What was cancelled. Repeat it while `complete` is false.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/waiting/cancel',
  perMinute: PER_MINUTE,
  input: cancelInput,
  output: z.object({
    cancelled: count.describe('notices: they were not sent and will not be'),
    contacts: count.describe('of these'),
    possiblySent: count.describe('not cancelled: an earlier attempt may have been accepted'),
    gone: count.describe('taken by a worker, or ended, meanwhile'),
    complete: z.boolean().describe('false because of the limit, or it took too long: repeat it'),
    waitMs,
  }),
  preview: async (context, input, call) => {
    const { redis, keys } = context;
    const filter = await selective(context, input, call);
    // Nothing that is queued later.
    const { queuedBefore = await redisNow(redis) } = input;
    const shown = { ...filter, before: queuedBefore };
    const groups = await groupWaiting(redis, keys, shown, call.signal);
    const { notices, contacts } = sumOf(groups);
    const most = Math.min(notices, input.limit ?? notices);
    return {
      lines: groups.length === 0 ? [] : groupLines(groups, Date.now()),
      question:
        notices === 0
          ? undefined
          : `Cancel ${most < notices ? `${formatCount(most)} of ` : ''}${countOf(notices, 'notice')} (${countOf(contacts, 'contact')})? They are never sent.`,
      input: { ...input, queuedBefore },
    };
  },
  run: async (context, input, call) => {
    const startedAt = performance.now();
    const { rate: most, releaseKey } = input;
    const report = { cancelled: 0, contacts: 0, possiblySent: 0, gone: 0 };
    try {
      const complete = await cancelWaiting(context, input, call, report);
      const done = report.cancelled + report.possiblySent + report.gone;
      return { ...report, complete, ...waitAfter(done, most, startedAt) };
    } finally {
      if (report.cancelled > 0) {
        const { template: code } = input;
        const what = code === undefined ? 'cancelled' : `cancelled ${code}`;
        const as = releaseKey === true ? `${what}, keys released` : what;
        const { contacts } = report;
        const entry = { what: 'cancel', target: 'single notices', as, contacts } as const;
        await appendAudit(context, call, entry);
      }
    }
  },
  text: ({ cancelled, contacts, possiblySent, gone, complete }) => [
    cancelled === 0
      ? 'No notice was cancelled.'
      : `${countOf(cancelled, 'notice')} (${countOf(contacts, 'contact')}) cancelled: they were not sent and will not be.`,
    ...(possiblySent === 0
      ? []
      : [`${formatCount(possiblySent)} left: an earlier attempt may have been accepted.`]),
    ...(gone === 0 ? [] : [`${formatCount(gone)} left: taken by a worker, or ended, meanwhile.`]),
    ...(complete ? [] : ['Not all that match were tried.']),
  ],
  isDone: ({ possiblySent, gone, complete }) => possiblySent + gone === 0 && complete,
});

/** The filter of a change. @throws InputError REQUEST_INVALID where it would select everything */
async function selective(context: OperationContext, input: Select, actor: Actor) {
  const filter = await filterOf(context, input, actor);
  if (Object.values(filter).some((field) => field !== undefined)) return filter;
  const problem = 'expected at least one of template, state, queuedAfter, queuedBefore and number';
  throw new InputError('REQUEST_INVALID', [{ field: 'template', problem }]);
}

/**
 * Cancels the notices that wait and match.
 *
 * @param report counts what is done, also where it ends with an error
 * @returns whether all that matched were tried: false where the limit or the signal has ended it
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was cancelled before stays cancelled
 */
async function cancelWaiting(
  context: OperationContext,
  input: z.output<typeof cancelInput>,
  call: OperationCall,
  report: Record<'cancelled' | 'contacts' | 'possiblySent' | 'gone', number>,
): Promise<boolean> {
  const { redis, keys } = context;
  const { limit = Infinity, rate: perSecond = Infinity, releaseKey } = input;
  const { signal, onProgress } = call;
  const filter = await selective(context, input, call);
  const startedAt = performance.now();
  // Not more at a time than a rate lets through in a moment.
  const atOnce = Math.max(1, Math.min(WAITING_PAGE, Math.ceil(perSecond / 20)));
  let tried = 0;
  const how = releaseKey === true ? 'release' : 'cancel';
  const cancel = async ({ id, contacts }: WaitingNotice) => {
    const { answer } = await endJob(redis, keys, { mode: 'id', text: id }, how);
    if (answer === 'cancelled') {
      report.cancelled += 1;
      report.contacts += contacts;
    } else if (answer === 'possibly-sent') report.possiblySent += 1;
    else report.gone += 1;
  };
  try {
    for await (const page of waitingNotices(redis, keys, filter, signal)) {
      for (let from = 0; from < page.length; from += atOnce) {
        const aheadMs = msAhead(tried, perSecond, startedAt);
        if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
        if (tried >= limit || signal?.aborted === true) return false;
        const some = page.slice(from, from + Math.min(atOnce, limit - tried));
        await Promise.all(some.map(cancel));
        tried += some.length;
        onProgress?.(report.cancelled);
      }
    }
    return signal?.aborted !== true;
  } catch (error) {
    throw redisFailure(error);
  }
}

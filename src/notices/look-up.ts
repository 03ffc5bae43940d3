import { z } from 'zod';
import { ERROR_CODES } from '../contracts/errors.ts';
import { HOLDS, remedyOf as remedyOfHold } from '../contracts/hold.ts';
import { isEarlier } from '../contracts/job.ts';
import {
  failureOf,
  newestTraceIds,
  type DeliveryPolicy,
  type PossibleSends,
} from '../contracts/outcome.ts';
import { closedHours } from '../contracts/send-windows.ts';
import { possibleSends } from '../fleet/job-history.ts';
import { frameOf } from '../payload/sealed-job.ts';
import { translated } from '../redis/failure.ts';
import { storedJson } from '../redis/stored-json.ts';
import type { EndedNotice } from './ended.ts';
import { readRef } from './notice-ref.ts';
import type { NoticeRef, NoticeView, PendingReason } from './notice-state.ts';
import {
  readNoticeJob,
  type NoticeSource,
  type StoredAccount,
  type StoredJob,
} from './read-job.ts';

/**
 * What is known of a notice. One round trip; it changes nothing, and the notice need not exist.
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 */
export async function lookUpNotice(source: NoticeSource, ref: NoticeRef): Promise<NoticeView> {
  const [job, account] = await translated(readNoticeJob(source, readRef(ref)));
  return noticeView(job, account);
}

/**
 * What is known of a notice.
 * @param account absent in lists, which do not tell why a notice waits and how long it is kept
 */
export function noticeView(job: StoredJob, account?: StoredAccount): NoticeView {
  const kept = storedRetention.safeParse(account?.retention).data;
  return { ...viewOf(job, account), ...defined({ kept }) };
}

/**
 * The state of a notice; the first row that applies:
 *
 * | its job | | state |
 * |---|---|---|
 * | any | its end is recorded | that |
 * | none | | not-kept |
 * | completed | | accepted |
 * | active | | sending |
 * | delayed, wait, prioritized | until the sending hours of its template | pending, sending-hours |
 * | delayed | | pending, delayed |
 * | failed | a defect of the program | unknown |
 * | wait, prioritized | the account is held | pending, held |
 * | wait, prioritized | the rate limit is used up | pending, rate-limited |
 * | wait, prioritized | | pending, waiting |
 */
function viewOf(job: StoredJob, account?: StoredAccount): NoticeView {
  const { id, place, fields, ended } = job;
  if (ended !== undefined) return endedView(ended);
  if (place === 'none') return { id, state: 'not-kept', contacts: 0, attempts: 0, possiblySent: 0 };
  const result:
    (Partial<PossibleSends> & { confirmed?: boolean; suppressed?: number }) | undefined =
    storedJson(z.looseObject({}), fields.returnvalue);
  const data = readable(fields.data);
  const suppressed = result?.suppressed ?? 0;
  const { possiblySent, traceIds, unknownAttempts } = sendsOf(job, result ?? {}, data);
  const pending = pendingOf(job, account, data.view.template);
  const state = pending === undefined ? STATES[place] : 'pending';
  return {
    id,
    state,
    ...defined({ pending }),
    ...data.view,
    ...(suppressed === 0 ? {} : { contacts: data.view.contacts - suppressed, suppressed }),
    attempts: numberOf(fields.atm) ?? 0,
    possiblySent,
    ...(traceIds.length === 0 ? {} : { traceIds }),
    ...defined({
      unknownAttempts,
      enqueuedAt: numberOf(fields.timestamp),
      startedAt: numberOf(fields.processedOn),
      endedAt: numberOf(fields.finishedOn),
    }),
    ...(state === 'accepted' ? {} : lastFailure(fields.failedReason, state)),
    ...(state === 'accepted' && result !== undefined
      ? { confirmed: result.confirmed !== false }
      : {}),
  };
}

/** The states of jobs that do not wait. */
const STATES = {
  completed: 'accepted',
  active: 'sending',
  failed: 'unknown',
  delayed: 'pending',
  prioritized: 'pending',
  wait: 'pending',
  none: 'not-kept',
} as const;

/** What is known of a notice whose end is recorded. */
export function endedView(ended: EndedNotice): NoticeView {
  const { id, at, state, code, message, template, contacts, attempts, possiblySent } = ended;
  const { delivery = 'at-least-once', enqueuedAt, startedAt, expiresAt, traceIds, stage } = ended;
  const { suppressed, unknownAttempts } = ended;
  const isShown = code !== '' && state !== 'accepted' && state !== 'cancelled';
  return {
    id,
    state,
    ...(template === '' ? {} : { template }),
    contacts,
    delivery,
    attempts,
    possiblySent,
    ...defined({ suppressed, traceIds, unknownAttempts, stage }),
    ...defined({ enqueuedAt, startedAt, endedAt: at, expiresAt }),
    ...(isShown ? { code, ...defined({ message }), remedy: remedyOf(code, state) } : {}),
  };
}

/** What waits for its sending hours is due then by the clock of a worker. */
const CLOCKS_MS = 1_000;

function pendingOf(
  { place, due }: StoredJob,
  { hold, now, rateLimit, retention }: StoredAccount = NO_ACCOUNT,
  template = '',
): PendingReason | undefined {
  const isDelayed = place === 'delayed';
  if (!isDelayed && place !== 'wait' && place !== 'prioritized') return undefined;
  if (!isDelayed && hold !== undefined) {
    const { kind, since, code } = hold;
    const { remedy } = remedyOfHold(kind, code);
    return { reason: 'held', hold: kind, since, meaning: HOLDS[kind].reason, remedy };
  }
  const closed = closedHours(retention['sendWindows'] ?? '', template, now);
  if (closed !== undefined && due <= closed.opensAt + CLOCKS_MS) {
    return { reason: 'sending-hours', until: closed.opensAt, opens: closed.words };
  }
  if (isDelayed) return { reason: 'delayed', until: due };
  return { reason: Number(rateLimit['nextAt'] ?? 0) > now ? 'rate-limited' : 'waiting' };
}

const NO_ACCOUNT = { now: 0, hold: undefined, rateLimit: {}, retention: {} };

/** What the service may have accepted of a notice whose end is not recorded. */
function sendsOf(
  { fields, place, intentOpen, history }: StoredJob,
  result: Partial<PossibleSends>,
  { view: { delivery }, before }: ReturnType<typeof readable>,
): PossibleSends {
  if (place === 'completed') {
    return { possiblySent: 0, traceIds: [], ...result };
  }
  const stalls = delivery === 'at-most-once' ? 0 : (numberOf(fields.stc) ?? 0);
  const own = possibleSends(history, stalls);
  return {
    ...own,
    possiblySent: before.possiblySent + Math.max(own.possiblySent, intentOpen ? 1 : 0),
    traceIds: newestTraceIds([...before.traceIds, ...own.traceIds]),
  };
}

/** Code and message of the last attempt, from the reason that BullMQ keeps. */
function lastFailure(
  reason: string | undefined,
  state: NoticeView['state'],
): Pick<NoticeView, 'code' | 'message' | 'remedy'> {
  const { code, message } = failureOf(reason);
  if (code === '') return {};
  return { code, ...(message === '' ? {} : { message }), remedy: remedyOf(code, state) };
}

function remedyOf(code: string, state: NoticeView['state']): string {
  const { EXPIRED, OUTCOME_UNKNOWN, SERVICE_REFUSED } = ERROR_CODES;
  if (state === 'unknown') return OUTCOME_UNKNOWN.remedy;
  if (state === 'pending' || state === 'sending') return 'Wait: it is tried again.';
  if (state === 'expired') return EXPIRED.remedy;
  return code in ERROR_CODES
    ? ERROR_CODES[code as keyof typeof ERROR_CODES].remedy
    : SERVICE_REFUSED.remedy;
}

/**
 * What the data of a job contains, from any producer: fields that no worker could read are left out, and a job
 * without a notice has no contacts here.
 */
function readable(text: string | undefined) {
  const data = storedJson(z.looseObject({}), text) ?? {};
  const { delivery, expiresAt, earlier } = data;
  const { template, contacts } = frameOf(data);
  const inTime = typeof expiresAt === 'number' && Math.abs(expiresAt) <= LAST_TIME;
  const policy: DeliveryPolicy = delivery === 'at-most-once' ? delivery : 'at-least-once';
  return {
    view: {
      ...(template === '' ? {} : { template }),
      contacts,
      delivery: policy,
      ...(inTime ? { expiresAt } : {}),
    },
    /** What the service may have accepted before it was sent again. */
    before: {
      possiblySent: isEarlier(earlier) ? earlier.possiblySent : 0,
      traceIds: isEarlier(earlier) ? (earlier.traceIds ?? []) : [],
    },
  };
}

/** The last time that a Date can have: milliseconds since the epoch. */
const LAST_TIME = 8.64e15;

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<Fields>;
}

/** The fields of the Redis hash; absent where no worker has stored them. */
const storedRetention = z.object({
  acceptedMs: z.coerce.number(),
  acceptedCount: z.coerce.number(),
  failedMs: z.coerce.number(),
});

import { ERROR_CODES } from '../contracts/errors.ts';
import { closedHours, type ClosedHours } from '../contracts/send-windows.ts';
import { HOLDS, remedyOf as remedyOfHold, type HoldKind } from '../contracts/hold.ts';
import { SEALED_JOB_VERSION, type JobData } from '../contracts/job.ts';
import { isName } from '../contracts/notice.ts';
import {
  earlierRuns,
  earlierSends,
  type ContactView,
  type NoticeRef,
  type NoticeState,
  type NoticeView,
  type PendingReason,
} from './notice-state.ts';
import { failureOf, newestTraceIds, traceIdsOf, type PossibleSends } from '../contracts/outcome.ts';
import { possibleSends } from '../fleet/job-history.ts';
import { effectiveRateLimit, readRateLimitState } from '../fleet/rate-limit/rate-limit-state.ts';
import type { Sealing } from '../payload/seal.ts';
import { maskNumber } from '../ops/mask-contact.ts';
import { EARLIER_FIELD } from './job-lua.ts';
import { readRef } from './notice-ref.ts';
import {
  readNoticeJob,
  type NoticeSource,
  type StoredAccount,
  type StoredJob,
} from './read-job.ts';
import { readRetention } from './retention.ts';
import { redisFailure } from '../redis/failure.ts';
import { openJob } from '../payload/sealed-job.ts';
import { pendingOf, stateOfJob } from './state-of-job.ts';

/** What a look-up knows of the account. */
interface Account {
  readonly hold: Extract<PendingReason, { reason: 'held' }> | undefined;
  readonly limited: boolean;
  readonly closed: (template: string | undefined) => ClosedHours | undefined;
}

const NO_ACCOUNT: Account = { hold: undefined, limited: false, closed: () => undefined };

function accountOf({ hold, rateLimit, retention, now }: StoredAccount): Account {
  const { kind, since } = hold;
  const isHeld = kind !== undefined && kind in HOLDS;
  const held = isHeld ? (kind as HoldKind) : 'manual';
  const { reason: meaning } = HOLDS[held];
  const { remedy } = remedyOfHold(held, hold['code'] ?? '');
  const isLimited = effectiveRateLimit(readRateLimitState(rateLimit, 0), now) !== undefined;
  return {
    hold: isHeld
      ? ({ reason: 'held', hold: kind as HoldKind, since: Number(since), meaning, remedy } as const)
      : undefined,
    limited: isLimited && Number(rateLimit['nextAt'] ?? 0) > now,
    closed: (template = '') => closedHours(retention['sendWindows'] ?? '', template, now),
  };
}

/**
 * What is known of a notice. One round trip; it changes nothing, and the notice need not exist.
 *
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function lookUpNotice(source: NoticeSource, ref: NoticeRef): Promise<NoticeView> {
  const asked = readRef(ref);
  try {
    const [job, account] = await readNoticeJob(source, asked);
    return noticeView(job, account, source.sealing);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * What is known of a notice.
 *
 * @param account absent in lists, which do not tell why a notice waits and how long it is kept
 * @param sealing decrypts the numbers of a notice that was accepted in part
 */
export function noticeView(job: StoredJob, account?: StoredAccount, sealing?: Sealing): NoticeView {
  const kept = account === undefined ? undefined : readRetention(account.retention);
  const view = viewOf(job, account === undefined ? NO_ACCOUNT : accountOf(account), sealing);
  return kept === undefined ? view : { ...view, kept };
}

function notKept(id: string): NoticeView {
  return { id, state: 'not-kept', contacts: 0, attempts: 0, possiblySent: 0 };
}

function viewOf(job: StoredJob, account: Account, sealing?: Sealing): NoticeView {
  const { id, place, fields, listed } = job;
  if (place === 'none') return notKept(id);
  const result = parsed(fields.returnvalue) as
    (Partial<PossibleSends> & { outcome?: string; confirmed?: boolean }) | undefined;
  const entry = parsed(listed) as
    | (Parameters<typeof traceIdsOf>[0] & {
        resend?: boolean;
        code?: string;
        possiblySent?: number;
      })
    | undefined;
  const earlier = earlierRuns(fields[EARLIER_FIELD]);
  const before = earlierSends(earlier);
  const data = readable(fields.data, id, sealing);
  const sends = sendsOfRun(job, result ?? {}, entry, data);
  const inThisRun = sends.possiblySent;
  const decided = stateOfJob({
    place,
    outcome: result?.outcome,
    listedUnknown: entry !== undefined && entry.resend !== true,
    possiblySent: inThisRun > 0,
    held: account.hold !== undefined,
    limited: account.limited,
  });
  const { state } = decided;
  // Nothing was possibly sent in this run.
  const isCertain = state === 'cancelled' || state === 'expired' || (!entry && inThisRun === 0);
  const traceIds = [...before.traceIds, ...(isCertain ? [] : newestTraceIds(sends.traceIds))];
  const { view, accepted, settled } = data;
  const mayBeAccepted = before.possiblySent > 0 || data.isPartlyAccepted;
  return {
    id,
    state,
    ...defined({
      pending: pendingOf(decided, job.due, account.hold, account.closed(data.view.template)),
    }),
    ...view,
    attempts: numberOf(fields.atm) ?? 0,
    possiblySent: before.possiblySent + (isCertain ? 0 : inThisRun),
    ...(traceIds.length === 0 ? {} : { traceIds }),
    ...defined({
      enqueuedAt: numberOf(fields.timestamp),
      startedAt: numberOf(fields.processedOn),
      endedAt: numberOf(fields.finishedOn),
    }),
    ...lastFailure(fields.failedReason, state, entry?.code, mayBeAccepted),
    ...(state === 'accepted' && result !== undefined
      ? { confirmed: result.confirmed !== false }
      : {}),
    ...(accepted.length + settled.length > 0 ? { contactStates: contactStates(data, state) } : {}),
    ...(earlier.length === 0 ? {} : { earlier }),
  };
}

/** What the service may have accepted of this run. */
function sendsOfRun(
  { fields, place, intentOpen, history }: StoredJob,
  result: Partial<PossibleSends>,
  listed: (Parameters<typeof traceIdsOf>[0] & { readonly possiblySent?: number }) | undefined,
  { view: { delivery }, isSettledInPart }: ReadableData,
): PossibleSends {
  if (place === 'completed' && listed === undefined) {
    return { possiblySent: result.possiblySent ?? 0, traceIds: result.traceIds ?? [] };
  }
  // What is left in the job ends as listed, or is rejected: the other contacts were possibly sent, and are accepted.
  if (isSettledInPart && place === 'failed' && listed === undefined)
    return { possiblySent: 0, traceIds: [] };
  const stalls = delivery === 'at-most-once' ? 0 : (numberOf(fields.stc) ?? 0);
  const own = possibleSends(history, stalls);
  const open = intentOpen && place !== 'completed' ? 1 : 0;
  return {
    possiblySent: Math.max(listed?.possiblySent ?? 0, own.possiblySent, open),
    traceIds: listed === undefined ? own.traceIds : traceIdsOf(listed),
  };
}

/**
 * Code and message of the last attempt that failed; of an accepted notice they are not shown.
 *
 * @param mayBeAccepted whether the service has accepted some contacts, or may have in an earlier run
 */
function lastFailure(
  reason: string | undefined,
  state: NoticeState,
  listedCode: string | undefined,
  mayBeAccepted: boolean,
): Pick<NoticeView, 'code' | 'message' | 'remedy'> {
  if (state === 'accepted' || state === 'cancelled') return {};
  if (state === 'expired') {
    const { EXPIRED, OUTCOME_UNKNOWN } = ERROR_CODES;
    return { code: 'EXPIRED', remedy: (mayBeAccepted ? OUTCOME_UNKNOWN : EXPIRED).remedy };
  }
  const { code, message } = failureOf(reason);
  const known = listedCode ?? code;
  if (known === '') return {};
  return { code: known, ...(message === '' ? {} : { message }), remedy: remedyOf(known, state) };
}

function remedyOf(code: string, state: NoticeState): string {
  if (state === 'unknown') return ERROR_CODES.OUTCOME_UNKNOWN.remedy;
  if (state === 'pending' || state === 'sending') return 'Wait: it is tried again.';
  return code in ERROR_CODES
    ? ERROR_CODES[code as keyof typeof ERROR_CODES].remedy
    : ERROR_CODES.SERVICE_REFUSED.remedy;
}

/** The state of each contact of a notice of which some have a state of their own. */
function contactStates({ accepted, settled, numbers }: ReadableData, state: NoticeState) {
  return [
    ...accepted.map((contact) => ({ contact: maskNumber(contact), state: 'accepted' as const })),
    ...settled.map((one) => ({ contact: maskNumber(one.contact), state: one.state })),
    ...numbers.map((contact) => ({ contact: maskNumber(contact), state })),
  ];
}

interface ReadableData {
  readonly view: Pick<NoticeView, 'template' | 'delivery' | 'expiresAt' | 'contacts'>;
  readonly accepted: readonly string[];
  readonly isPartlyAccepted: boolean;
  /** Some contacts have a state of their own. */
  readonly isSettledInPart: boolean;
  readonly settled: readonly ContactView[];
  /** Of the contacts that are still in the job. */
  readonly numbers: readonly string[];
}

/**
 * What the data of a job contains, from any producer: fields that no worker could read are left out, and a job
 * without a notice has no contacts here.
 */
function readable(text: string | undefined, id: string, sealing?: Sealing): ReadableData {
  const data = parsed(text);
  const { v, notice, delivery, expiresAt, accepted, settled } = fieldsOf(data);
  const { templateCode, contacts } = fieldsOf(notice);
  const isSealed = v === SEALED_JOB_VERSION;
  // An encrypted job has the length in place of each list.
  const sizeOf = (list: unknown, those: (one: unknown) => boolean = () => true) =>
    isSealed ? Math.max(0, Number(list ?? 0)) || 0 : listOf(list).filter(those).length;
  // Of an encrypted notice the numbers are only shown where their states differ.
  const differ = accepted !== undefined || settled !== undefined;
  const opened = isSealed && differ ? openedOrNone(data, id, sealing) : undefined;
  const template = isName(templateCode) ? { template: templateCode } : {};
  const acceptedSize = sizeOf(accepted, isText);
  const inTime = typeof expiresAt === 'number' && Math.abs(expiresAt) <= LAST_TIME;
  return {
    view: {
      ...template,
      contacts: sizeOf(contacts) + acceptedSize + sizeOf(settled),
      delivery: delivery === 'at-most-once' ? delivery : 'at-least-once',
      ...(inTime ? { expiresAt } : {}),
    },
    accepted: listOf(opened?.accepted ?? accepted).filter(isText),
    isPartlyAccepted: acceptedSize > 0,
    isSettledInPart: differ,
    settled: listOf(opened?.settled ?? settled).flatMap((one) => {
      const { contact, state } = fieldsOf(one);
      const { contact: number } = fieldsOf(contact);
      return isText(number) && (state === 'rejected' || state === 'unknown')
        ? [{ contact: number, state }]
        : [];
    }),
    numbers: listOf(opened?.notice.contacts ?? contacts)
      .map((contact) => fieldsOf(contact)['contact'])
      .filter(isText),
  };
}

function openedOrNone(data: unknown, id: string, sealing?: Sealing): JobData | undefined {
  try {
    return openJob(data, id, sealing);
  } catch {
    return undefined;
  }
}

/** The last time that a Date can have: milliseconds since the epoch. */
const LAST_TIME = 8.64e15;

const fieldsOf = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isText = (value: unknown): value is string => typeof value === 'string';

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return (JSON.parse(text) as unknown) ?? undefined;
  } catch {
    return undefined;
  }
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined. */
function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<Fields>;
}

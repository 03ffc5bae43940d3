import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';
import type { FailedPart, Settlement } from '../../src/batch/ledger/settlement.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import type { JobData, SettledContact } from '../../src/contracts/job.ts';
import type { Contact } from '../../src/contracts/notice.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import {
  newestTraceIds,
  sendsOfAll,
  type PossibleSends,
} from '../../src/contracts/possibly-sent.ts';
import { sealJob } from '../../src/payload/sealed-job.ts';
import { isProgramError } from '../../src/redis/failure.ts';
import { outcomeOfResults } from '../../src/service/outcome-table.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import { SendJob } from '../queue/send-job.ts';
import type { AttemptLog } from './attempt-log.ts';
import { knownAfter, type NoticeIntent } from './notice-intent.ts';

/*
 * An answer with a result for each contact (docs/answers.md). The results have the order of the contacts of
 * the request. What is final of a contact is recorded before anything else, and it is never sent again by itself.
 */

/** The outcome as far as it tells about the service: one accepted contact proves that it accepts. */
export function outcomeOfRequest(
  outcome: Outcome | undefined,
  results: readonly ContactResult[] | undefined,
): Outcome | undefined {
  return results?.some((result) => result.outcome === 'accepted') === true
    ? { kind: 'accepted', confirmed: true }
    : outcome;
}

/** What becomes of a single notice whose contacts do not all have the same result. */
interface SettledNotice {
  /** Of the notice as a whole. */
  readonly outcome: Outcome;
  /** What its job keeps: in the notice what is sent again, or what it has ended for. */
  readonly kept: JobData;
  /** Where it ends as unknown: what the service may have accepted of the contacts for which it does. */
  readonly sends?: PossibleSends;
}

/** What settling a notice needs to know of its run. */
type SettledRun = Pick<NoticeIntent, 'possiblySent' | 'traceIds' | 'mostResends' | 'lastAttempt'>;

/**
 * Settles each contact of a single notice by its own result. Those that are accepted, rejected or finally unknown
 * leave the notice; as long as others are tried again, the job keeps them beside it. Then the notice has the worst of
 * their states: unknown, else rejected. It again contains the contacts in that state, so that a decision or a redrive
 * sends exactly these; the others stay beside it.
 *
 * | result | possibly sent before | becomes |
 * |---|---|---|
 * | accepted | either | accepted |
 * | rejected | no | rejected |
 * | rejected | yes | unknown |
 * | retry | either | tried again; with no attempts left as rejected |
 * | unknown | either | tried again; with at-most-once, or no attempts or resends left, unknown |
 *
 * An unknown contact keeps what was possibly sent of it: later requests of the notice do not contain it.
 *
 * @param results of the contacts in the notice, in their order
 * @param traceId of the service, for the request with these results
 * @returns undefined where the job needs no change: all have the same result, or are tried again
 */
export function settleNotice(
  data: JobData,
  results: readonly ContactResult[],
  intent: SettledRun,
  traceId?: string,
): SettledNotice | undefined {
  const { notice, settled: before = [], accepted: acceptedBefore = [], ...job } = data;
  const isSame = new Set(results.map(({ outcome }) => outcome)).size < 2;
  if (isSame && before.length === 0) return undefined;
  const accepted = [...acceptedBefore];
  const settled = [...before];
  const rest: Contact[] = [];
  const restResults: ContactResult[] = [];
  let unknownNow = false;
  for (const [index, contact] of notice.contacts.entries()) {
    const result = results[index] ?? UNLISTED;
    const { outcome, code } = result;
    const state = finalState(result, data, intent);
    if (state === 'accepted') accepted.push(contact.contact);
    else if (state === undefined) {
      rest.push(contact);
      restResults.push(result);
    } else {
      unknownNow ||= outcome === 'unknown';
      const sends = state === 'unknown' ? sendsOf(outcome, intent, traceId) : {};
      settled.push({ contact, state, code, ...sends });
    }
  }
  const keep = (contacts: readonly Contact[], beside: readonly SettledContact[]): JobData => ({
    ...job,
    notice: { ...notice, contacts: [...contacts] },
    ...(accepted.length > 0 ? { accepted } : {}),
    ...(beside.length > 0 ? { settled: beside } : {}),
  });
  if (rest.length === notice.contacts.length) return undefined;
  if (rest.length > 0) {
    return { outcome: outcomeOfResults(restResults), kept: keep(rest, settled) };
  }
  const worst = settled.find(({ state }) => state === 'unknown') ?? settled[0];
  if (worst === undefined) return undefined;
  const { state: kind, code } = worst;
  const isWorst = ({ state }: SettledContact) => state === kind;
  const kept = keep(
    settled.filter(isWorst).map(({ contact }) => contact),
    settled.filter((one) => !isWorst(one)),
  );
  if (kind === 'rejected') return { outcome: { kind, code }, kept };
  const outcome: Outcome = unknownNow
    ? { kind, code, final: true }
    : { kind, code, final: true, earlier: true };
  return { outcome, kept, sends: sendsOfAll(settled.filter(isWorst)) };
}

/** What the service may have accepted of a contact that becomes unknown with this result. */
function sendsOf(
  outcome: ContactResult['outcome'],
  { possiblySent, traceIds }: Pick<SettledRun, 'possiblySent' | 'traceIds'>,
  traceId: string | undefined,
): Partial<PossibleSends> {
  const isNow = outcome === 'unknown';
  const own = isNow && traceId !== undefined ? [traceId] : [];
  const ids = newestTraceIds([...traceIds, ...own]);
  return {
    possiblySent: possiblySent + (isNow ? 1 : 0),
    ...(ids.length > 0 ? { traceIds: ids } : {}),
  };
}

/** The state in which a contact ends with this result; undefined where it is tried again. */
function finalState(
  { outcome: result, code }: ContactResult,
  { delivery }: JobData,
  intent: SettledRun,
): 'accepted' | SettledContact['state'] | undefined {
  const outcome = knownAfter(outcomeOfResults([{ outcome: result, code }]), intent);
  switch (outcome?.kind) {
    case 'accepted':
    case 'rejected':
      return outcome.kind;
    case 'unknown':
      return delivery !== undefined || intent.lastAttempt || outcome.final === true
        ? 'unknown'
        : undefined;
    case 'retry':
    case 'hold':
    case 'expired':
    case 'cancelled':
    case undefined:
      return intent.lastAttempt ? 'rejected' : undefined;
  }
}

/** The results of an answer that has none per contact, for the contacts that are left of a notice. */
export function sameForAll(
  { notice, settled }: JobData,
  outcome: Outcome | undefined,
): ContactResult[] | undefined {
  if (settled === undefined || outcome === undefined) return undefined;
  const { kind } = outcome;
  if (kind === 'hold' || kind === 'expired' || kind === 'cancelled') return undefined;
  if (kind === 'retry' && !outcome.counted) return undefined;
  const code = kind === 'accepted' ? '' : outcome.code;
  return notice.contacts.map(() => ({ outcome: kind, code, message: '' }));
}

/**
 * Records what the job of a single notice keeps, repeated until Redis has it. The run goes on with the data that it
 * has; only the next one reads what is kept.
 *
 * @returns false where the job has the data of before, since another run has it or it has ended
 */
export async function keepContacts(
  job: Job,
  kept: JobData,
  { log, sealing }: { readonly log: AttemptLog; readonly sealing: Sealing },
): Promise<boolean> {
  // Once: a repetition is known by its text.
  const sealed = sealJob(kept, job.id ?? '', sealing);
  await settleWithRetry(
    () => job.updateData(sealed),
    (error) => log.trouble('contacts', error),
    (error) => !isProgramError(error),
  );
  return !(job instanceof SendJob && job.hasLostData);
}

/** Contacts of a request for a chunk, or for a part of one, by what becomes of each. */
export interface SortedContacts<Contact> {
  /** How many were accepted. */
  readonly accepted: number;
  /** One for each state and code. */
  readonly failed: readonly FailedContacts<Contact>[];
  /** Tried again; the service may have accepted them. */
  readonly unknown: readonly Contact[];
  /** Tried again; the service accepted none of them. */
  readonly unsent: readonly Contact[];
}

/** A part of a chunk that failed, with its contacts. */
export type FailedContacts<Contact> = Omit<FailedPart, 'size' | 'payload'> & {
  readonly of: readonly Contact[];
};

/** A request for contacts of a chunk, and its results. */
export interface ContactResults<Contact> {
  readonly contacts: readonly Contact[];
  readonly results: readonly ContactResult[];
  /** What is unknown may be sent again: by the delivery policy, and by UNKNOWN_RESENDS. */
  readonly mayResend: boolean;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
}

/**
 * What becomes of contacts with results. Those that fail with the same state and code become one failure.
 *
 * | result | may be sent again | may not: at-most-once, or no resend is left |
 * |---|---|---|
 * | accepted | accepted | accepted |
 * | rejected | rejected | rejected |
 * | retry | tried again; with no attempts left rejected | the same |
 * | unknown | tried again as possibly sent; with no attempts left unknown | unknown |
 */
export function sortByResult<Contact>({
  contacts,
  results,
  mayResend,
  lastAttempt,
}: ContactResults<Contact>): SortedContacts<Contact> {
  const failed = new Map<string, FailedContacts<Contact> & { readonly of: Contact[] }>();
  const unknown: Contact[] = [];
  const unsent: Contact[] = [];
  let accepted = 0;
  for (const [index, contact] of contacts.entries()) {
    const { outcome, code, message } = results[index] ?? UNLISTED;
    const isFinal = outcome === 'rejected' || lastAttempt || (outcome === 'unknown' && !mayResend);
    if (outcome === 'accepted') accepted += 1;
    else if (isFinal) {
      const state = outcome === 'unknown' ? 'unknown' : 'rejected';
      const name = `${state} ${code}`;
      const part = failed.get(name);
      if (part === undefined) failed.set(name, { state, code, message, of: [contact] });
      else part.of.push(contact);
    } else {
      (outcome === 'unknown' ? unknown : unsent).push(contact);
    }
  }
  return { accepted, failed: [...failed.values()], unknown, unsent };
}

const UNLISTED: ContactResult = { outcome: 'unknown', code: 'NOT_IN_RESULTS', message: '' };

/**
 * What is recorded in the ledger for a chunk with results. Contacts to try again of which the service accepted
 * none become a chunk of their own beside unknown ones: each chunk has one history.
 *
 * @param encode makes a payload of some of the contacts
 */
export async function settlementOfSorted<Contact>(
  { accepted, failed, unknown, unsent }: SortedContacts<Contact>,
  encode: (contacts: readonly Contact[]) => Promise<Buffer>,
): Promise<Settlement> {
  const payloadOf = async (some: readonly Contact[]) => ({
    size: some.length,
    payload: await encode(some),
  });
  const parts = await Promise.all(
    failed.map(async ({ of, ...part }) => ({ ...part, ...(await payloadOf(of)) })),
  );
  const settlement = { accepted, failed: parts };
  const isSplit = unknown.length > 0 && unsent.length > 0;
  const rest = isSplit ? unknown : [...unknown, ...unsent];
  if (rest.length === 0) return settlement;
  return {
    ...settlement,
    rest: { ...(await payloadOf(rest)), possiblySent: unknown.length > 0 },
    ...(isSplit ? { split: await payloadOf(unsent) } : {}),
  };
}

/**
 * How an attempt ends that leaves contacts to try again.
 *
 * @param outcome of the contacts together
 */
export function endOfSorted(
  { unknown }: Pick<SortedContacts<unknown>, 'unknown'>,
  outcome: Outcome,
): Outcome {
  const code = 'code' in outcome ? outcome.code : '';
  return unknown.length > 0 ? { kind: 'unknown', code } : { kind: 'retry', code, counted: true };
}

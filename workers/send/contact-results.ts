import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/settle-with-retry.ts';
import type { FailedPart, Settlement } from '../../src/batch/ledger/settlement.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import { sealJob } from '../../src/payload/sealed-job.ts';
import { isProgramError } from '../../src/redis/failure.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import type { AttemptLog } from './attempt-log.ts';

/*
 * An answer with a result for each contact (docs/answers.md). The results have the order of the contacts of
 * the request. Contacts that were accepted are recorded as such before anything else, and are never sent
 * again.
 */

/** Items of a list by whether the contact at the same place was accepted. */
export function byAcceptance<Item>(
  items: readonly Item[],
  results: readonly ContactResult[],
): { readonly accepted: Item[]; readonly others: Item[] } {
  const isAccepted = (index: number) => results[index]?.outcome === 'accepted';
  return {
    accepted: items.filter((_, index) => isAccepted(index)),
    others: items.filter((_, index) => !isAccepted(index)),
  };
}

/** Whether some contacts were accepted and others were not. */
export function isMixed(results: readonly ContactResult[] | undefined): boolean {
  if (results === undefined) return false;
  const { accepted, others } = byAcceptance(results, results);
  return accepted.length > 0 && others.length > 0;
}

/** The outcome as far as it tells about the service: one accepted contact proves that it accepts. */
export function outcomeOfRequest(
  outcome: Outcome | undefined,
  results: readonly ContactResult[] | undefined,
): Outcome | undefined {
  return results?.some((result) => result.outcome === 'accepted') === true
    ? { kind: 'accepted', confirmed: true }
    : outcome;
}

/**
 * Keeps in the job of a single notice only the contacts that were not accepted, repeated until Redis has
 * recorded it. The run goes on with the data that it has; only the next one reads what is kept.
 */
export async function keepOtherContacts(
  job: Job,
  data: JobData,
  results: readonly ContactResult[],
  { log, sealing }: { readonly log: AttemptLog; readonly sealing: Sealing },
): Promise<void> {
  const { accepted, others } = byAcceptance(data.notice.contacts, results);
  const kept: JobData = {
    ...data,
    notice: { ...data.notice, contacts: others },
    accepted: [...(data.accepted ?? []), ...accepted.map(({ contact }) => contact)],
  };
  try {
    await settleWithRetry(
      () => job.updateData(sealJob(kept, job.id ?? '', sealing)),
      (error) => log.trouble('contacts', error),
      (error) => !isGone(error) && !isProgramError(error),
    );
  } catch (error) {
    // A job that is gone is not sent again.
    if (!isGone(error)) throw error;
  }
}

/** BullMQ gives the error for a job that does not exist a number as its code. */
const isGone = (error: unknown): boolean =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number';

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
 * none become a chunk of their own beside unknown ones, unless the chunk was possibly sent before: each chunk has
 * one history.
 *
 * @param possiblySent the service may have accepted an earlier attempt at the chunk
 * @param encode makes a payload of some of the contacts
 */
export async function settlementOfSorted<Contact>(
  { accepted, failed, unknown, unsent }: SortedContacts<Contact>,
  possiblySent: boolean,
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
  const isSplit = !possiblySent && unknown.length > 0 && unsent.length > 0;
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

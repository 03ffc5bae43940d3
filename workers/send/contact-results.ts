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

/** A chunk with the results of its contacts. */
export interface ChunkResults<Contact> {
  readonly contacts: readonly Contact[];
  readonly results: readonly ContactResult[];
  /** The service may have accepted an earlier attempt at the chunk. */
  readonly possiblySent: boolean;
  /** What is unknown may be sent again: by the delivery policy, and by UNKNOWN_RESENDS. */
  readonly mayResend: boolean;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** Makes a payload of some of the contacts. */
  readonly encode: (contacts: readonly Contact[]) => Promise<Buffer>;
}

/**
 * What is recorded in the ledger for a chunk with results. Contacts that fail with the same state and code
 * become one failure.
 *
 * | result | may be sent again | may not: at-most-once, or no resend is left |
 * |---|---|---|
 * | accepted | accepted | accepted |
 * | rejected | rejected | rejected |
 * | retry | tried again; with no attempts left rejected | the same |
 * | unknown | tried again as possibly sent; with no attempts left unknown | unknown |
 *
 * Contacts to try again of which the service accepted none become a chunk of their own beside unknown ones, unless
 * the chunk was possibly sent before: each chunk has one history.
 */
export async function settlementOfResults<Contact>({
  contacts,
  results,
  possiblySent,
  mayResend,
  lastAttempt,
  encode,
}: ChunkResults<Contact>): Promise<Settlement> {
  const failed = new Map<
    string,
    Omit<FailedPart, 'size' | 'payload'> & { readonly of: Contact[] }
  >();
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
  const payloadOf = async (some: readonly Contact[]) => ({
    size: some.length,
    payload: await encode(some),
  });
  const parts = await Promise.all(
    [...failed.values()].map(async ({ of, ...part }) => ({
      ...part,
      ...(await payloadOf(of)),
    })),
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

const UNLISTED: ContactResult = { outcome: 'unknown', code: 'NOT_IN_RESULTS', message: '' };

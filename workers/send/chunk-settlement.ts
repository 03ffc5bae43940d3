import {
  allAccepted,
  allBack,
  allFailed,
  type FailedPart,
  type Settlement,
} from '../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy, Outcome } from '../../src/contracts/outcome.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';
import { UNLISTED } from './attempt.ts';

/** An attempt at a chunk whose outcome is known. */
export interface EndedChunk {
  /** Undefined when nothing was sent and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  /** Number of contacts. */
  readonly size: number;
  readonly delivery: DeliveryPolicy;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** Status and message of the service, masked. */
  readonly detail: string;
}

/**
 * What is recorded in the ledger after an attempt at a chunk, by outcome and delivery policy.
 *
 * | outcome | at-least-once | at-most-once |
 * |---|---|---|
 * | accepted | accepted | accepted |
 * | rejected | rejected, where the chunk is not halved ({@link mayBeOneContact}) | the same |
 * | retry | tried again; with no attempts left rejected, because nothing was taken | the same |
 * | retry not counted, hold, not started | tried again | tried again |
 * | unknown | tried again as possibly sent; with no attempts or resends left unknown | unknown |
 * | expired, cancelled | decided by the claim, never here | the same |
 */
export function settlementOf(ended: EndedChunk): Settlement {
  const { outcome, size, delivery, lastAttempt, detail } = ended;
  switch (outcome?.kind) {
    case 'accepted':
      return allAccepted(size);
    case 'rejected':
      return allFailed(size, 'rejected', outcome.code, detail);
    case 'unknown':
      return delivery === 'at-most-once' || lastAttempt || outcome.final === true
        ? allFailed(size, 'unknown', outcome.code, detail)
        : allBack(size, true);
    case 'retry':
      return outcome.counted && lastAttempt
        ? allFailed(size, 'rejected', outcome.code, detail)
        : allBack(size, false);
    case 'hold':
    case 'expired':
    case 'cancelled':
    case undefined:
      return allBack(size, false);
  }
}

/** Whether {@link settlementOf} gives the contacts their final state: no attempt follows. */
export function isSettled(
  outcome: Outcome,
  delivery: DeliveryPolicy,
  lastAttempt: boolean,
): boolean {
  const { rest } = settlementOf({ outcome, size: 1, delivery, lastAttempt, detail: '' });
  return rest === undefined;
}

/** Contacts of a chunk by what becomes of each. */
export interface SortedContacts<Contact> {
  readonly accepted: readonly Contact[];
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
  const accepted: Contact[] = [];
  for (const [index, contact] of contacts.entries()) {
    const { outcome, code, message } = results[index] ?? UNLISTED;
    const isFinal = outcome === 'rejected' || lastAttempt || (outcome === 'unknown' && !mayResend);
    if (outcome === 'accepted') accepted.push(contact);
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
  const settlement = { accepted: accepted.length, failed: parts };
  const isSplit = unknown.length > 0 && unsent.length > 0;
  const rest = isSplit ? unknown : [...unknown, ...unsent];
  if (rest.length === 0) return settlement;
  return {
    ...settlement,
    rest: { ...(await payloadOf(rest)), possiblySent: unknown.length > 0 },
    ...(isSplit ? { split: [await payloadOf(unsent)] } : {}),
  };
}

import type { FailedPart, Settlement } from '../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { ContactResult } from '../../src/service/response/answer-rules.ts';

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

/** A chunk with the results of its contacts. */
export interface ChunkResults<Contact> {
  readonly contacts: readonly Contact[];
  readonly results: readonly ContactResult[];
  readonly delivery: DeliveryPolicy;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** Makes a payload of some of the contacts. */
  readonly encode: (contacts: readonly Contact[]) => Promise<Buffer>;
}

/**
 * What is recorded in the ledger for a chunk with results. Contacts that fail with the same state and code
 * become one failure.
 *
 * | result | at-least-once | at-most-once |
 * |---|---|---|
 * | accepted | accepted | accepted |
 * | rejected | rejected | rejected |
 * | retry | tried again; with no attempts left rejected | the same |
 * | unknown | tried again as possibly sent; with no attempts left unknown | unknown |
 */
export async function settlementOfResults<Contact>({
  contacts,
  results,
  delivery,
  lastAttempt,
  encode,
}: ChunkResults<Contact>): Promise<Settlement> {
  const failed = new Map<
    string,
    Omit<FailedPart, 'size' | 'payload'> & { readonly of: Contact[] }
  >();
  const rest: Contact[] = [];
  let [accepted, possiblySent] = [0, false];
  for (const [index, contact] of contacts.entries()) {
    const { outcome, code, message } = results[index] ?? UNLISTED;
    const isFinal =
      outcome === 'rejected' ||
      lastAttempt ||
      (outcome === 'unknown' && delivery === 'at-most-once');
    if (outcome === 'accepted') accepted += 1;
    else if (isFinal) {
      const state = outcome === 'unknown' ? 'unknown' : 'rejected';
      const name = `${state} ${code}`;
      const part = failed.get(name);
      if (part === undefined) failed.set(name, { state, code, message, of: [contact] });
      else part.of.push(contact);
    } else {
      rest.push(contact);
      possiblySent ||= outcome === 'unknown';
    }
  }
  const parts = await Promise.all(
    [...failed.values()].map(async ({ of, ...part }) => ({
      ...part,
      size: of.length,
      payload: await encode(of),
    })),
  );
  if (rest.length === 0) return { accepted, failed: parts };
  const payload = await encode(rest);
  return { accepted, failed: parts, rest: { size: rest.length, payload, possiblySent } };
}

const UNLISTED: ContactResult = { outcome: 'unknown', code: 'NOT_IN_RESULTS', message: '' };

import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import {
  endOfSorted,
  settlementOfSorted,
  type FailedContacts,
  type SortedContacts,
} from '../contact-results.ts';
import { shouldSplit } from '../should-split.ts';

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
 * | rejected | rejected (after {@link bisect}, where it is split) | the same |
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

/**
 * After so many rejections in a row without one acceptance the contacts are not the cause: a wrong
 * template would otherwise cost two requests per contact. More only where one contact is alone after more halvings.
 */
function mostFruitless(size: number): number {
  return Math.max(12, Math.ceil(Math.log2(size)) + 1);
}

/** Result of the send call for a part of a chunk. */
export interface SentPart<Contact> {
  readonly outcome: Outcome | undefined;
  readonly status: number | undefined;
  readonly detail: string;
  /** Where the answer had a result for each contact: they decide about the part. */
  readonly sorted?: SortedContacts<Contact> | undefined;
}

/**
 * The settlement of a bisection, and the outcome that ended it early, if one did; or `halve`: nothing is settled, and the
 * chunk is to be halved in the ledger, since a part is at fault by the evidence.
 */
export type Bisected =
  { readonly settlement: Settlement; readonly ended: Outcome | undefined } | 'halve';

/** What a bisection works with. */
export interface BisectOptions<Contact> {
  /** Of a chunk that was just rejected as a whole. */
  readonly contacts: readonly Contact[];
  /** What the whole chunk was rejected with. */
  readonly rejected: { readonly code: string; readonly detail: string };
  readonly delivery: DeliveryPolicy;
  /** No attempt is left after this one. */
  readonly lastAttempt: boolean;
  /** Makes a send call for some of the contacts, where they may still be sent. */
  readonly send: (contacts: readonly Contact[]) => Promise<SentPart<Contact>>;
  /** Makes a payload of some of the contacts. */
  readonly encode: (contacts: readonly Contact[]) => Promise<Buffer>;
}

/**
 * Finds the contacts that made the service reject a chunk, by sending halves of it, and so sends the
 * others. A rejection proves that the service took nothing of that request, so this is as safe for a
 * chunk whose earlier attempt is unknown: what is accepted counts as possibly sent twice, and what is
 * rejected becomes unknown (the ledger does that).
 *
 * The chunk stays claimed meanwhile; the results of all its contacts are settled in one step at the end.
 * An attempt after which it cannot go on ends it: a hold, a stop, a lost lock, a service that fails, a batch that
 * was paused or cancelled, results that leave contacts to try again. Contacts that are tried again together have
 * the same history; a new chunk has that of the chunk before this attempt:
 *
 * | request that ended it | its part | parts not sent yet |
 * |---|---|---|
 * | unknown | settled like a chunk ({@link settlementOf}) | a new chunk |
 * | refused, its own fault by the evidence | `halve` where nothing is settled yet; else tried again, with the others | with it |
 * | results, some unknown | each contact by its result; the unknown ones are the chunk | a new chunk, with what was not accepted |
 * | results, none unknown | each contact by its result | with those to try again |
 * | another | settled like a chunk, with the others | with it |
 */
export async function bisect<Contact>({
  contacts,
  rejected,
  delivery,
  lastAttempt,
  send,
  encode,
}: BisectOptions<Contact>): Promise<Bisected> {
  const waiting: (readonly Contact[])[] = halves(contacts);
  const failed: FailedContacts<Contact>[] = [];
  const reject = (of: readonly Contact[], code: string, message: string) => {
    failed.push({ state: 'rejected', code, message, of });
  };
  let accepted = 0;
  let rejections = 0;
  /** What is settled so far, and these contacts to try again. */
  const settled = (unknown: readonly Contact[], unsent: readonly Contact[]) =>
    settlementOfSorted({ accepted, failed, unknown, unsent }, encode);

  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    if (accepted === 0 && rejections >= mostFruitless(contacts.length)) {
      reject([part, ...waiting].flat(), rejected.code, rejected.detail);
      break;
    }
    const { outcome, status, detail, sorted } = await send(part);
    const { length: size } = part;
    if (outcome !== undefined && sorted !== undefined) {
      const { unknown, unsent } = sorted;
      accepted += sorted.accepted;
      failed.push(...sorted.failed);
      if (outcome.kind === 'rejected') rejections++;
      if (unknown.length + unsent.length > 0) {
        const settlement = await settled(unknown, [...unsent, ...waiting.flat()]);
        return { settlement, ended: endOfSorted(sorted, outcome) };
      }
    } else if (outcome?.kind === 'accepted') {
      accepted += size;
    } else if (outcome?.kind === 'rejected' && (outcome.own !== true || size === 1)) {
      rejections++;
      if (shouldSplit({ kind: 'chunk', size, status, bisect: true })) {
        waiting.unshift(...halves(part));
      } else reject(part, outcome.code, detail);
    } else {
      const isOwn = outcome?.kind === 'rejected';
      if (isOwn && accepted === 0 && failed.length === 0) return 'halve';
      const endedBy: Outcome | undefined = isOwn
        ? { kind: 'retry', code: outcome.code, counted: false }
        : outcome;
      const alone = outcome?.kind === 'unknown';
      const together = alone ? part : [part, ...waiting].flat();
      const ended = { outcome: endedBy, size: together.length, delivery, lastAttempt, detail };
      const { rest, failed: ofPart } = withPayload(settlementOf(ended), await encode(together));
      const before = await settled([], []);
      const settlement = {
        ...before,
        failed: [...before.failed, ...ofPart],
        ...(rest === undefined ? {} : { rest }),
      };
      const notSent = alone ? waiting.flat() : [];
      if (notSent.length === 0) return { settlement, ended: endedBy };
      const split = { size: notSent.length, payload: await encode(notSent) };
      return { settlement: { ...settlement, split }, ended: endedBy };
    }
  }
  return { settlement: await settled([], []), ended: undefined };
}

/** The settlement of a part of a chunk, with the contacts of the part. */
function withPayload({ accepted, rest, failed }: Settlement, payload: Buffer): Settlement {
  const parts = failed.map((part) => ({ ...part, payload }));
  return { accepted, failed: parts, ...(rest === undefined ? {} : { rest: { ...rest, payload } }) };
}

/** Two halves of at least two contacts, the larger one first. */
export function halves<Contact>(contacts: readonly Contact[]): [Contact[], Contact[]] {
  const middle = Math.ceil(contacts.length / 2);
  return [contacts.slice(0, middle), contacts.slice(middle)];
}

import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy, Outcome } from '../../src/contracts/outcome.ts';

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

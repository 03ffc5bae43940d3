import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../src/batch/ledger/settlement.ts';

/**
 * What the ledger is told after an attempt at a chunk, by outcome and delivery policy.
 *
 * | outcome | at-least-once | at-most-once |
 * |---|---|---|
 * | accepted | accepted | accepted |
 * | rejected | rejected (after bisecting, where that may help) | the same |
 * | retry | back; with no attempts left rejected, for nothing was taken | the same |
 * | retry not counted, hold, not started | back | back |
 * | unknown | back with doubt; with no attempts left unknown | unknown |
 * | expired, cancelled | decided by the claim, never here | the same |
 *
 * @param lastAttempt no attempt is left after this one
 * @param detail the service's own words, masked
 */
export function settlementOf(
  outcome: Outcome | undefined,
  size: number,
  delivery: DeliveryPolicy,
  lastAttempt: boolean,
  detail: string,
): Settlement {
  switch (outcome?.kind) {
    case 'accepted':
      return allAccepted(size);
    case 'rejected':
      return allFailed(size, 'rejected', outcome.code, detail);
    case 'unknown':
      return delivery === 'at-most-once' || lastAttempt
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

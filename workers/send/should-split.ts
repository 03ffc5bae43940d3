import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';

/** Statuses that suggest that one contact, or their number, made the service refuse a request. */
const CAUSED_BY_A_CONTACT: ReadonlySet<number> = new Set([400, 413, 422]);

/** A request that was rejected as a whole. */
export type RejectedRequest = {
  /** Status of the answer. */
  readonly status: number | undefined;
} & (
  | {
      /** Single notices that shared the request. */
      readonly kind: 'group';
      /** Notices. */
      readonly size: number;
      readonly delivery: DeliveryPolicy;
    }
  | {
      /** A chunk of a batch, or a part of one. */
      readonly kind: 'chunk';
      /** Contacts. */
      readonly size: number;
      /** The option `bisect` of the import. */
      readonly bisect: boolean;
    }
);

/**
 * Whether a rejected request is split and sent again in parts, because one notice or contact may have
 * made the service refuse it. The service has said that it took nothing of the request.
 *
 * | request | size 1 | 400, 413, 422 | another status from 400 | 2xx with `success: false` |
 * |---|---|---|---|---|
 * | group, at-least-once | no | yes | yes | yes |
 * | group, at-most-once | no | yes | yes | no: weaker proof that nothing was taken |
 * | chunk | no | yes | no | no |
 * | chunk, without `bisect` | no | no | no | no |
 *
 * A chunk that is at fault by the evidence (a page, 401, 403) is not split here: it becomes two chunks in the ledger
 * (chunks/chunk-attempt.ts).
 *
 * A group is split for any status because its notices come from different callers, each of which must
 * fail for its own fault only.
 */
export function shouldSplit(request: RejectedRequest): boolean {
  const { size, status = 0 } = request;
  if (size <= 1) return false;
  switch (request.kind) {
    case 'group':
      return status >= 400 || request.delivery === 'at-least-once';
    case 'chunk':
      return request.bisect && CAUSED_BY_A_CONTACT.has(status);
  }
}

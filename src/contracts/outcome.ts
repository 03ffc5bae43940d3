import type { HoldKind } from './hold.ts';

/**
 * What is known after an attempt: a closed set. The table that decides it is
 * `src/service/outcome-table.ts`; what a worker does with each is `workers/send/disposition.ts`.
 *
 * - `accepted`: the service took it. `confirmed` is false where a 2xx came with a body that broke
 *   or could not be read; it is never sent again all the same.
 * - `rejected`: the service refused this request for itself; it fails for good, kept for redrive.
 * - `retry`: proof that nothing was taken; the job backs off. `counted` is false where the job is
 *   not to blame (its token was refused within the grace time): no attempt is spent.
 * - `hold`: not this job's fault, and the next job would meet the same; no attempt is spent.
 * - `unknown`: it may have been taken; the delivery policy decides.
 * - `expired`: its deadline passed before it could be sent.
 * - `cancelled`: its batch was cancelled first.
 */
export type Outcome =
  | { readonly kind: 'accepted'; readonly confirmed: boolean }
  | { readonly kind: 'rejected'; readonly code: string }
  | { readonly kind: 'retry'; readonly code: string; readonly counted: boolean }
  | {
      readonly kind: 'hold';
      readonly hold: HoldKind;
      readonly code: string;
      /** Milliseconds until the next probe, where the cause names them (Retry-After, a refusal's rest). */
      readonly forMs?: number;
    }
  | {
      readonly kind: 'unknown';
      readonly code: string;
      /** No attempt follows, whatever the delivery policy. */
      readonly final?: true;
    }
  | { readonly kind: 'expired' }
  | { readonly kind: 'cancelled' };

/** Names of the outcomes, for logs, metrics and tables. */
export type OutcomeKind = Outcome['kind'];

/** Every outcome, in the order in which tables, metrics and the traffic record keep them. */
export const OUTCOME_KINDS = [
  'accepted',
  'rejected',
  'retry',
  'hold',
  'unknown',
  'expired',
  'cancelled',
] as const satisfies readonly OutcomeKind[];

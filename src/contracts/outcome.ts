import type { HoldKind } from './hold.ts';

/**
 * What is known after an attempt: a closed set. `src/service/outcome-table.ts` decides it;
 * `workers/send/disposition.ts` applies it to the job.
 *
 * - `accepted`: the service accepted it. `confirmed` is false if the status was 2xx and the body broke or
 *   could not be read; it is never sent again.
 * - `rejected`: the service refused this request for its content; the job fails, and is kept for redrive.
 * - `retry`: proof that the service accepted nothing; the job backs off. `counted` is false if the job is
 *   not the cause (the worker stops): no attempt is counted.
 * - `hold`: the next job would get the same; no attempt is counted. With `ownAfter` it may be the job's own
 *   fault: evidence makes it a hold, a retry or a rejection (src/fleet/hold/evidence.ts).
 * - `unknown`: the service may have accepted it; the delivery policy decides.
 * - `expired`: its `expiresAt` passed before it could be sent.
 * - `cancelled`: its batch was cancelled first.
 */
export type Outcome =
  | { readonly kind: 'accepted'; readonly confirmed: boolean }
  | {
      readonly kind: 'rejected';
      readonly code: string;
      /** A refusal or page that is its own fault by the evidence: others were accepted in between. */
      readonly own?: true;
    }
  | {
      readonly kind: 'retry';
      readonly code: string;
      readonly counted: boolean;
      /**
       * Distance of the attempts. `far`: others may get the same. `near`: others were accepted. Default: as
       * after any failed attempt.
       */
      readonly backoff?: 'far' | 'near';
    }
  | {
      readonly kind: 'hold';
      readonly hold: HoldKind;
      readonly code: string;
      /** Milliseconds to the next probe, if the cause says so (Retry-After, the rest of a refusal). */
      readonly forMs?: number;
      /** The hold is placed whatever was accepted since. */
      readonly always?: true;
      /**
       * The service refused the key pair, the app or the address of this worker (`refused`), or of another one of its key
       * pair, for whose next issuance it waits (`waits`): perhaps not those of all.
       */
      readonly caller?: 'refused' | 'waits';
      /** It may be the job's own: so many contradictions by acceptances prove it; 0: nothing does. */
      readonly ownAfter?: number;
      /** The job comes again after so many milliseconds, behind the others. Default: it is next. */
      readonly behindMs?: number;
    }
  | {
      readonly kind: 'unknown';
      readonly code: string;
      /** No attempt follows, whatever the delivery policy. */
      readonly final?: true;
      /** An earlier attempt may have been accepted; this one was not. */
      readonly earlier?: true;
      /** The queue is held: the job comes again after so many milliseconds. */
      readonly behindMs?: number;
    }
  | { readonly kind: 'expired' }
  | { readonly kind: 'cancelled' };

/** Names of the outcomes, for logs, metrics and tables. */
export type OutcomeKind = Outcome['kind'];

/** Every outcome, in the order of tables, metrics and the traffic record. */
export const OUTCOME_KINDS = [
  'accepted',
  'rejected',
  'retry',
  'hold',
  'unknown',
  'expired',
  'cancelled',
] as const satisfies readonly OutcomeKind[];

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
 * - `hold`: the next job may get the same. What different notices met in a row makes it a hold of the account or of the
 *   template, a retry or a rejection (src/fleet/hold/trouble.ts).
 * - `unknown`: the service may have accepted it; the delivery policy decides.
 * - `expired`: its `expiresAt` passed before it could be sent.
 * - `cancelled`: its batch was cancelled first.
 */
export type Outcome =
  | { readonly kind: 'accepted'; readonly confirmed: boolean }
  | {
      readonly kind: 'rejected';
      readonly code: string;
      /** A refusal or page that is its own fault: others were accepted in between. */
      readonly own?: true;
    }
  | {
      readonly kind: 'retry';
      readonly code: string;
      readonly counted: boolean;
      /**
       * Distance of the attempts. `far`: others may get the same. `near`: others were accepted. `ms`: the service asks for
       * so long. Default: as after any failed attempt.
       */
      readonly backoff?: 'far' | 'near' | { readonly ms: number };
    }
  | {
      readonly kind: 'hold';
      readonly hold: HoldKind;
      readonly code: string;
      /** Milliseconds to the next probe, if the cause says so (Retry-After, the rest of a refusal). */
      readonly forMs?: number;
      /**
       * Whom it concerns: everybody, by its cause (`all`); everybody, if different notices meet it in a row
       * (`row`); the notices of its template, if they do so (`template`).
       */
      readonly scope: 'all' | 'row' | 'template';
      /** It is the notice's own fault after so many contradictions by acceptances of others. Default: never. */
      readonly rejectAfter?: number;
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

/** Every outcome, in the order of tables and metrics. */
export const OUTCOME_KINDS = [
  'accepted',
  'rejected',
  'retry',
  'hold',
  'unknown',
  'expired',
  'cancelled',
] as const satisfies readonly OutcomeKind[];

import type { z } from 'zod';
import type { unknownAttempt } from './answer.ts';
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
 * - `suppressed`: its contacts are on the do-not-send list.
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
    }
  | { readonly kind: 'expired' | 'suppressed' };

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
  'suppressed',
] as const satisfies readonly OutcomeKind[];

/*
 * Once possibly sent, always possibly sent until accepted: a later rejection, a deadline that passes or
 * attempts that run out prove nothing about the earlier request. While the job lives, its history tells
 * (src/fleet/job-history.ts), and how often its worker died; then the record of its end.
 */

/** The newest trace ids that are kept, of 128 characters each at most. */
export const MOST_KEPT = 10;

/** What the service may have accepted without an answer that proves it. */
export interface PossibleSends {
  readonly possiblySent: number;
  /** Its trace ids for those of them that it answered, oldest first. */
  readonly traceIds: readonly string[];
  /** Those of them in the last run that ended otherwise than by the death of their worker; absent for none. */
  readonly unknownAttempts?: readonly z.output<typeof unknownAttempt>[] | undefined;
}

/** The trace ids that are kept of one run. @param traceIds oldest first */
export const newestTraceIds = (traceIds: readonly string[]): readonly string[] =>
  traceIds.slice(-MOST_KEPT);

/**
 * The message of a failure of a batch, with the trace ids of the service for the attempts that may have been
 * accepted: a person has to find out there what became of them.
 *
 * @param traceIds oldest first; the newest ten are kept
 */
export function withTraceIds(detail: string, traceIds: readonly string[]): string {
  const newest = newestTraceIds(traceIds);
  if (newest.length === 0) return detail;
  const ids = `(trace id${newest.length === 1 ? '' : 's'} ${newest.join(' ')})`;
  return detail === '' ? ids : `${detail} ${ids}`;
}

/** Code and message of a failed attempt, from the reason that is stored with the job. */
export function failureOf(failedReason: string | undefined): {
  readonly code: string;
  readonly message: string;
} {
  const text = (failedReason ?? '').trim();
  const colon = text.indexOf(':');
  if (colon === -1) return { code: text, message: '' };
  return { code: text.slice(0, colon), message: text.slice(colon + 1).trim() };
}

/** How a notice, or a contact of a list, ends. */
export const END_STATES = [
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
  'suppressed',
] as const;

/**
 * What happens when the outcome of an attempt is unknown.
 *
 * - `at-least-once`: it is sent again, and counted as possibly sent twice. Only what was being sent at
 *   the time of a fault can arrive twice.
 * - `at-most-once`: it is stored as unknown and not sent again until a person decides. Nothing arrives
 *   twice.
 */
export const DELIVERY_POLICIES = ['at-least-once', 'at-most-once'] as const;

export type DeliveryPolicy = (typeof DELIVERY_POLICIES)[number];

/** The two lanes of a worker: single notices, and chunks of batches. */
export const LANES = ['notices', 'chunks'] as const;

export type LaneName = (typeof LANES)[number];

/**
 * An attempt that ended, for the traffic record, metrics and traces. Names no job and contains nothing
 * personal. A job that was requeued unsent is no attempt.
 */
export interface SeenAttempt {
  readonly lane: LaneName;
  readonly outcome: OutcomeKind;
  /** The service's code or ours. It may be any text of the service, so do not use it as a label. */
  readonly code?: string;
  readonly hold?: HoldKind;
  /** 0 where the job could not be read. */
  readonly contacts: number;
  /** Requests that were put on a connected socket. */
  readonly requests: number;
  /** Its contacts, if the service may have accepted both this attempt and an earlier one. Default: 0. */
  readonly possiblySentTwice?: number;
  /** Milliseconds from the last request to the end of its answer; absent without an answer. */
  readonly answerMs?: number;
  /**
   * Milliseconds from when the job was due, or was sent again, to this run, holds included. Only for the attempt that ended
   * the wait: absent after a hold, and from the second attempt on.
   */
  readonly waitedMs?: number;
}

import type { Refusal } from '../../contracts/token.ts';
import type { TransportFailure } from '../http/classify-failure.ts';
import type { ContactResult, MatchedRule } from './answer-rules.ts';
import type { BodyKind } from './read-answer.ts';

/**
 * What is known after a send call: facts only; outcome-table.ts decides. Contains no token, secret or phone
 * number and may be logged as it is.
 */
export interface SendAnswer {
  /**
   * - `not-sent`: proof that the service accepted nothing. The last request was never written to a connected
   *   socket; one before it, if any, was refused with 401 or 403.
   * - `sent`: the service may have accepted it; there is no status.
   * - `answered`: there is a status, even if the body broke.
   */
  readonly stage: 'not-sent' | 'sent' | 'answered';
  readonly status?: number;
  /** The service's own code; absent where the answer accepts. */
  readonly code?: string;
  /**
   * The service's message: at most 200 characters; numbers, opaque runs and every value that was sent are
   * masked. Absent where the answer accepts.
   */
  readonly message?: string;
  readonly traceId?: string;
  /** Kind of the body; `none` also without an answer. */
  readonly body: BodyKind;
  /** The field `success` of the JSON, if it has one. */
  readonly success?: boolean;
  /** The answer rule that decides about it (ANSWER_RULES_FILE). */
  readonly rule?: MatchedRule;
  /** One for each contact of the request, where the answer rules find them and no rule matches. */
  readonly results?: readonly ContactResult[];
  /** The answer rules expect results in an answer with this status, and its body could not be read as a whole. */
  readonly resultsUnread?: true;
  /** Retry-After in milliseconds, not clamped. */
  readonly retryAfterMs?: number;
  /** Why the call failed, if it did. */
  readonly failure?: TransportFailure;
  /** The error code behind `failure`, such as ECONNREFUSED. */
  readonly failureCode?: string;
  /** Id of the token of the last request. */
  readonly tokenId?: string;
  /** Tokens that were refused in this attempt, in order. */
  readonly refused: readonly (Refusal & { readonly tokenId: string })[];
  /** The call was given up after the first of these refusals, and not because its answer did not end. */
  readonly givenUp?: true;
  /** Monotonic time of the first of these refusals. */
  readonly refusedAt?: number;
  /** Requests written to a connected socket. */
  readonly requests: number;
  /** Milliseconds from the last request to the end of its answer, if there is one. */
  readonly answerMs?: number;
  /** Milliseconds of the whole call: waits for tokens and connections included. */
  readonly durationMs: number;
}

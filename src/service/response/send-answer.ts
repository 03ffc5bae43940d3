import type { RefusalStatus } from '../../contracts/token.ts';
import type { TransportFailure } from '../http/classify-failure.ts';
import type { BodyKind } from './read-answer.ts';

/**
 * What is known after a send call: facts, no judgement (outcome-table.ts judges). It holds no
 * token, secret or phone number and may be logged as it is.
 */
export interface SendAnswer {
  /**
   * - `not-sent`: proof that nothing was taken. The last request was never put on a connected
   *   socket; one before it, if any, was refused with 401 or 403.
   * - `sent`: it may have been taken, and no status came back.
   * - `answered`: a status was seen, also where the body then broke.
   */
  readonly stage: 'not-sent' | 'sent' | 'answered';
  readonly status?: number;
  /** The service's own code. */
  readonly code?: string;
  /** The service's message: at most 200 characters, numbers and opaque runs masked. */
  readonly message?: string;
  readonly traceId?: string;
  /** What the answer looked like; `none` also where there was no answer. */
  readonly body: BodyKind;
  /** JSON's own `success`, where it has one. */
  readonly success?: boolean;
  /** Retry-After in milliseconds, not clamped. */
  readonly retryAfterMs?: number;
  /** What broke the call, where something did. */
  readonly failure?: TransportFailure;
  /** The error code behind `failure`, such as ECONNREFUSED. */
  readonly failureCode?: string;
  /** Id of the token of the last request. */
  readonly tokenId?: string;
  /** Tokens that were refused in this attempt, in order. */
  readonly refused: readonly { readonly tokenId: string; readonly status: RefusalStatus }[];
  /** Requests put on a connected socket. */
  readonly requests: number;
  /** Milliseconds from the last request on its socket to the end of its answer, where it has one. */
  readonly answerMs?: number;
  /** Milliseconds of the whole call: waits for tokens and connections included. */
  readonly durationMs: number;
}

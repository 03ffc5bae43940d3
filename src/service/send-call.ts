import { Cancellation, type Deadline } from '../async/cancellation.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { Refusal, Token, CancelSignal, TokenSource } from '../contracts/token.ts';
import { type TransportFailure, Exchange, headerOf } from './http/transport.ts';
import type { TokenHeaders } from './request-body.ts';
import { matchingRule, type MatchedRule } from './response/answer-rules.ts';
import { AnswerMask } from './response/mask-text.ts';
import { readAnswer, type BodyKind } from './response/read-answer.ts';
import { parseRetryAfter } from './response/token-lifetime.ts';
import type { ValuePieces } from './response/value-pieces.ts';
import type { AnswerRules } from '../contracts/answer-rules.ts';

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
  /** Retry-After in milliseconds, not clamped. */
  readonly retryAfterMs?: number;
  readonly failure?: TransportFailure;
  /** The error code behind `failure`, such as ECONNREFUSED. */
  readonly failureCode?: string;
  readonly tokenId?: string;
  /** Tokens that were refused in this attempt, in order. */
  readonly refused: readonly (Refusal & { readonly tokenId: string })[];
  /** The call was given up after the first of these refusals, and not because its answer did not end. */
  readonly givenUp?: true;
  /** Requests written to a connected socket. */
  readonly requests: number;
  /** Milliseconds from the last request to the end of its answer, if there is one. */
  readonly answerMs?: number;
  /** Milliseconds of the whole call: waits for tokens and connections included. */
  readonly durationMs: number;
}

type Known = { -readonly [Fact in keyof SendAnswer]: SendAnswer[Fact] };

const NO_HEADERS: readonly string[] = [];

export interface SendEndpoint {
  readonly post: (exchange: Exchange) => Promise<void>;
  readonly path: string;
  /** How often a request that was provably not sent is repeated. */
  readonly notSentRetries: number;
  readonly tokenHeaders: (token: Token) => TokenHeaders;
  /** Rules that decide about its answers before the built-in table does. */
  readonly rules: AnswerRules | undefined;
  /** Whether the trace ids of answers that accept are read. */
  readonly acceptedTraceIds: boolean;
  readonly knownCodes: ReadonlySet<string>;
}

/** One send call: its one or two requests, the tokens they used, and what is known when it is over. */
export class SendCall extends Exchange {
  readonly #endpoint: SendEndpoint;
  readonly #guard: RequestGuard | undefined;
  /** Ends a wait for a token or a check. */
  readonly #cancel: CancelSignal;
  readonly #refused: SendAnswer['refused'][number][] = [];
  readonly #startedAt = performance.now();
  #tokenId: string | undefined;
  /** Of the tokens so far. */
  #secrets: readonly ValuePieces[] = [];

  constructor(
    endpoint: SendEndpoint,
    body: string | Uint8Array,
    deadline: Deadline,
    ownConnection: boolean,
    guard: RequestGuard | undefined,
  ) {
    const { path, notSentRetries: retries } = endpoint;
    super(path, body, NO_HEADERS, deadline, { retries, ownConnection });
    this.#endpoint = endpoint;
    this.#guard = guard;
    this.#cancel = guard === undefined ? deadline : new Cancellation(deadline, guard.cancel);
  }

  override mayStart(): boolean {
    return this.#guard?.mayStart() ?? true;
  }

  /**
   * Sends with the current token; when the answer is 401 or 403, refreshes the token and retries once
   * (service-api, Authentication rule 4). It is not retried where the token source knows that another token is
   * refused the same.
   *
   * @throws NoticeQueueError TOKEN_INVALID, and what the token source throws; TOKEN_UNAVAILABLE for any foreign error of it
   */
  async run(tokens: TokenSource): Promise<void> {
    const cancel = this.#cancel;
    const token = await this.#usable(() => tokens.get(cancel));
    if (token === undefined) return;
    const refusal = await this.#request(token);
    // Once the time is over, a token that is dropped and not used would be issued again for the next call.
    if (refusal === undefined || this.deadline.aborted) return;
    const renewed = await this.#usable(() => tokens.renew(token, refusal, cancel));
    if (renewed !== undefined) await this.#request(renewed);
  }

  /** A token with which a request may be made now; undefined when the time of the call was over meanwhile. */
  async #usable(ask: () => Promise<Token | undefined>): Promise<Token | undefined> {
    let token: Token | undefined;
    try {
      token = await ask();
    } catch (error) {
      if (error instanceof NoticeQueueError) throw error;
      if (this.deadline.aborted) return undefined;
      // A foreign error could contain anything, a secret included.
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token source failed.');
    }
    if (token === undefined) return undefined;
    try {
      const checked = this.#guard?.check(this.#cancel);
      if (checked !== undefined) await checked;
    } catch (error) {
      if (this.deadline.aborted) return undefined;
      throw error;
    }
    return token;
  }

  /** Makes the request with this token. @returns the refusal, if the answer is 401 or 403 */
  async #request(token: Token): Promise<Refusal | undefined> {
    const { post, tokenHeaders } = this.#endpoint;
    const { headers, secrets } = tokenHeaders(token);
    this.#tokenId = token.id;
    this.headers = headers;
    this.#secrets = [secrets, ...this.#secrets];
    await post(this);
    const { facts } = this;
    const status = facts?.status;
    if (facts === undefined || (status !== 401 && status !== 403)) return undefined;
    const { code } = readAnswer(facts, this.#mask);
    const refusal: Refusal = code === undefined ? { status } : { status, code };
    // A request that was cancelled before it was made leaves the facts of the one before.
    if (this.#refused.length < this.requests) this.#refused.push({ tokenId: token.id, ...refusal });
    return refusal;
  }

  /** What is known when the call is over. Contains no secret, even if the service echoes one. */
  answer(): SendAnswer {
    const { facts, requests } = this;
    // Field by field: this runs once per send, and spreading objects took a tenth of the send.
    const answer: Known = {
      stage: 'answered',
      body: 'none',
      refused: this.#refused,
      requests,
      durationMs: Math.round(performance.now() - this.#startedAt),
    };
    if (this.#tokenId !== undefined) answer.tokenId = this.#tokenId;
    if (facts?.status === undefined) {
      answer.stage = facts?.started === true ? 'sent' : 'not-sent';
      return { ...answer, ...this.#failure() };
    }
    const { status, headers, failure, failureCode, tookMs } = facts;
    answer.status = status;
    const { rules } = this.#endpoint;
    const isSuccess = status >= 200 && status < 300;
    const ofAccepted = this.#endpoint.acceptedTraceIds ? 'trace-id' : 'none';
    const wanted = isSuccess && rules === undefined ? ofAccepted : 'all';
    const read = readAnswer(facts, this.#mask, wanted);
    answer.body = read.body;
    if (read.code !== undefined) answer.code = read.code;
    if (read.message !== undefined) answer.message = read.message;
    if (read.traceId !== undefined) answer.traceId = read.traceId;
    if (read.success !== undefined) answer.success = read.success;
    // A refusal that was not repeated may be the token's: what other notices met decides about it.
    const isOfToken = (status === 401 || status === 403) && this.#refused.length < 2;
    if (rules !== undefined && !isOfToken) {
      const rule = matchingRule(rules, { ...read, status });
      if (rule !== undefined) answer.rule = rule;
      if (rule === undefined ? isSuccess && read.success !== false : rule.outcome === 'accepted') {
        delete answer.code;
        delete answer.message;
      }
    }
    const retryAfter = headerOf(headers, 'retry-after');
    if (retryAfter !== undefined) {
      const afterMs = parseRetryAfter(retryAfter, headerOf(headers, 'date'), Date.now());
      if (afterMs !== undefined) answer.retryAfterMs = afterMs;
    }
    if (tookMs !== undefined) answer.answerMs = tookMs;
    // Given up between the refusal and the second request.
    const { cause } = this.deadline;
    if (this.#refused.length === 1 && cause !== undefined) {
      answer.failure = cause;
      if (failure === undefined) answer.givenUp = true;
    }
    if (failure !== undefined) answer.failure = failure;
    if (failureCode !== undefined) answer.failureCode = failureCode;
    return answer;
  }

  readonly #mask = (): AnswerMask =>
    new AnswerMask(this.#secrets, this.body, this.#endpoint.knownCodes);

  /**
   * What ended a call without a status. A time that was over before the first request was tried counts as giving up: a
   * slow Redis or token says nothing about the service.
   */
  #failure(): { failure: TransportFailure; failureCode?: string } {
    const { facts, deadline } = this;
    if (facts === undefined) {
      const isLate = deadline.cause !== undefined;
      return isLate ? { failure: 'aborted', failureCode: 'DEADLINE' } : { failure: 'other' };
    }
    const { failure = 'other', failureCode } = facts;
    return failureCode === undefined ? { failure } : { failure, failureCode };
  }
}

/** The caller's last check before each request of a send call. */
export interface RequestGuard {
  /** Ends a wait for a token or a check; a request that is under way is not affected. */
  readonly cancel: CancelSignal;
  /**
   * Called once the token is there, right before a request. To forbid the request, it throws: the call
   * then ends with that error, unless its deadline fired meanwhile.
   *
   * @param cancel aborted when `RequestGuard.cancel` is, or when the time of the call is over
   * @returns undefined where it did not have to wait
   */
  check(cancel: CancelSignal): Promise<void> | undefined;
  /**
   * Asked when a connection is there, right before the first byte: the request may have waited for it since
   * `check`, and one that was not sent is repeated. False ends the call as given up, with nothing sent.
   */
  mayStart(): boolean;
  /** Called where the call ends with an error after a request that was refused, with what is known of that request. */
  noteRefused?(answer: SendAnswer): void;
}

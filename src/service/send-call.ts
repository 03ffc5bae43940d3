import type { Refusal, Token } from '../contracts/token.ts';
import type { TransportFailure } from './http/classify-failure.ts';
import type { Deadline } from '../async/deadline.ts';
import type { TokenHeadersCache } from './bearer.ts';
import { Exchange, headerOf } from './http/exchange.ts';
import type { Post } from './http/http-client.ts';
import { applyRules, type AnswerRules } from './response/answer-rules.ts';
import { AnswerMask } from './response/mask-text.ts';
import type { ValuePieces } from './response/value-pieces.ts';
import { readAnswer } from './response/read-answer.ts';
import { parseRetryAfter } from './response/retry-after.ts';
import type { SendAnswer } from './response/send-answer.ts';
import type { RequestGuard } from './send-with-refresh.ts';

type Known = { -readonly [Fact in keyof SendAnswer]: SendAnswer[Fact] };

const NO_HEADERS: readonly string[] = [];

/** How much longer an answer may be for each contact of the request, where the rules read results per contact. */
const RESULT_BYTES = 1_024;

/** Where send calls go. */
export interface SendEndpoint {
  readonly post: Post;
  /** Path of the send endpoint. */
  readonly path: string;
  /** How often a request that was provably not sent is repeated. */
  readonly notSentRetries: number;
  readonly tokenHeaders: TokenHeadersCache;
  /** Rules that decide about its answers before the built-in table does. */
  readonly rules: AnswerRules | undefined;
  /** The codes that these rules compare with. */
  readonly knownCodes: ReadonlySet<string>;
}

/** What a send call depends on. */
interface SendCallParts {
  readonly deadline: Deadline;
  readonly ownConnection: boolean;
  /** The numbers of the contacts of the request, in order; called only for an answer with results. */
  readonly numbers: () => readonly string[];
  readonly guard?: Pick<RequestGuard, 'mayStart'> | undefined;
}

/** One send call: its one or two requests, the tokens they used, and what is known when it is over. */
export class SendCall extends Exchange {
  readonly #endpoint: SendEndpoint;
  readonly #numbers: () => readonly string[];
  readonly #guard: SendCallParts['guard'];
  #limit: number | undefined;
  readonly #refused: SendAnswer['refused'][number][] = [];
  readonly #startedAt = performance.now();
  #refusedAt: number | undefined;
  #tokenId: string | undefined;
  /** Of the tokens so far. */
  #secrets: readonly ValuePieces[] = [];

  constructor(
    endpoint: SendEndpoint,
    body: string | Uint8Array,
    { deadline, ownConnection, numbers, guard }: SendCallParts,
  ) {
    const { path, notSentRetries: retries } = endpoint;
    super(path, body, NO_HEADERS, deadline, { retries, ownConnection });
    this.#endpoint = endpoint;
    this.#numbers = numbers;
    this.#guard = guard;
  }

  override mayStart(): boolean {
    return this.#guard?.mayStart() ?? true;
  }

  override answerLimit(): number {
    if (this.#endpoint.rules?.results === undefined) return super.answerLimit();
    return (this.#limit ??= super.answerLimit() + RESULT_BYTES * this.#numbers().length);
  }

  /**
   * Makes the request with this token, and records whether the service refused the token.
   *
   * @returns the refusal, if the answer is 401 or 403
   * @throws NoticeQueueError TOKEN_INVALID
   */
  async request(token: Token): Promise<Refusal | undefined> {
    const { post, tokenHeaders } = this.#endpoint;
    const { headers, secrets } = tokenHeaders.of(token);
    this.#tokenId = token.id;
    this.headers = headers;
    this.#secrets = [secrets, ...this.#secrets];
    await post(this);
    const { facts } = this;
    const status = facts?.status;
    if (facts === undefined || (status !== 401 && status !== 403)) return undefined;
    this.#refusedAt ??= performance.now();
    const { code } = readAnswer(facts, this.#mask());
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
    if (this.#refusedAt !== undefined) answer.refusedAt = this.#refusedAt;
    if (facts?.status === undefined) {
      answer.stage = facts?.started === true ? 'sent' : 'not-sent';
      return { ...answer, ...this.#failure() };
    }
    const { status, headers, failure, failureCode, tookMs } = facts;
    answer.status = status;
    const { rules } = this.#endpoint;
    const isSuccess = status >= 200 && status < 300;
    const mask = this.#mask();
    const mayAccept = isSuccess && rules === undefined;
    const read = readAnswer(facts, mask, mayAccept, () => this.answerLimit());
    answer.body = read.body;
    if (read.code !== undefined) answer.code = read.code;
    if (read.message !== undefined) answer.message = read.message;
    if (read.traceId !== undefined) answer.traceId = read.traceId;
    if (read.success !== undefined) answer.success = read.success;
    // A refusal that was not repeated may be the token's: what other notices met decides about it.
    const isOfToken = (status === 401 || status === 403) && this.#refused.length < 2;
    if (rules !== undefined && !isOfToken) {
      Object.assign(answer, applyRules(rules, { ...read, status }, this.#numbers, mask));
      const { rule } = answer;
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
      if (cause === 'aborted' || failure === undefined) answer.givenUp = true;
    }
    if (failure !== undefined) answer.failure = failure;
    if (failureCode !== undefined) answer.failureCode = failureCode;
    return answer;
  }

  #mask(): AnswerMask {
    return new AnswerMask(this.#secrets, this.body, this.#endpoint.knownCodes);
  }

  /**
   * What ended a call without a status. Giving up between two requests counts as giving up, and so does a time that
   * was over before the first one was tried: a slow Redis or token says nothing about the service.
   */
  #failure(): { failure: TransportFailure; failureCode?: string } {
    const { facts, deadline } = this;
    const gaveUp = deadline.aborted && deadline.cause === 'aborted';
    if (facts === undefined || (gaveUp && !facts.started && facts.failure !== 'certificate')) {
      const { cause } = deadline;
      if (cause === undefined) return { failure: 'other' };
      return { failure: 'aborted', failureCode: cause === 'timeout' ? 'DEADLINE' : 'ABORTED' };
    }
    const { failure = 'other', failureCode } = facts;
    return failureCode === undefined ? { failure } : { failure, failureCode };
  }
}

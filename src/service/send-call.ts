import type { RefusalStatus, Token } from '../contracts/token.ts';
import type { TransportFailure } from './http/classify-failure.ts';
import type { Deadline } from '../async/deadline.ts';
import type { TokenHeaders } from './bearer.ts';
import { Exchange, headerOf } from './http/exchange.ts';
import { readAnswer } from './response/read-answer.ts';
import { parseRetryAfter } from './response/retry-after.ts';
import type { SendAnswer } from './response/send-answer.ts';

type Known = { -readonly [Fact in keyof SendAnswer]: SendAnswer[Fact] };

const NO_HEADERS: readonly string[] = [];

/** What is known of one send call: its one or two requests and the tokens they used. */
export class SendCall extends Exchange {
  readonly #refused: { tokenId: string; status: RefusalStatus }[] = [];
  readonly #startedAt = performance.now();
  #tokenId: string | undefined;
  /** Of the tokens so far. */
  #secrets: readonly string[] = [];

  constructor(body: string | Uint8Array, deadline: Deadline, ownConnection: boolean) {
    super(body, NO_HEADERS, deadline, ownConnection);
  }

  /** The next request is made with this token. */
  useToken({ id }: Token, { headers, secrets }: TokenHeaders): void {
    this.#tokenId = id;
    this.headers = headers;
    this.#secrets = this.#secrets.length === 0 ? secrets : [...secrets, ...this.#secrets];
  }

  /** Notes whether the service refused the token of the last request. Returns the status, if any. */
  noteStatus(): number | undefined {
    const status = this.facts?.status;
    // A request that was cancelled before it was made leaves the facts of the one before.
    const isNew = this.#refused.length < this.requests;
    if (isNew && this.#tokenId !== undefined && (status === 401 || status === 403)) {
      this.#refused.push({ tokenId: this.#tokenId, status });
    }
    return status;
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
    const read = readAnswer(facts, this.#secrets);
    answer.body = read.body;
    if (read.code !== undefined) answer.code = read.code;
    if (read.message !== undefined) answer.message = read.message;
    if (read.traceId !== undefined) answer.traceId = read.traceId;
    if (read.success !== undefined) answer.success = read.success;
    const retryAfter = headerOf(headers, 'retry-after');
    if (retryAfter !== undefined) {
      const afterMs = parseRetryAfter(retryAfter, headerOf(headers, 'date'), Date.now());
      if (afterMs !== undefined) answer.retryAfterMs = afterMs;
    }
    if (tookMs !== undefined) answer.answerMs = tookMs;
    if (failure !== undefined) answer.failure = failure;
    if (failureCode !== undefined) answer.failureCode = failureCode;
    return answer;
  }

  /** What ended a call without a status. Giving up between two requests counts as giving up. */
  #failure(): { failure: TransportFailure; failureCode?: string } {
    const { facts, deadline } = this;
    const gaveUp = deadline.aborted && deadline.cause === 'aborted';
    if (facts === undefined || (gaveUp && !facts.started && facts.failure !== 'certificate')) {
      const { cause } = deadline;
      if (cause === undefined) return { failure: 'other' };
      return { failure: cause, failureCode: cause === 'timeout' ? 'DEADLINE' : 'ABORTED' };
    }
    const { failure = 'other', failureCode } = facts;
    return failureCode === undefined ? { failure } : { failure, failureCode };
  }
}

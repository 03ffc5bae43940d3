import type { RefusalStatus, Token, TokenSource } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { TransportFailure } from './http/classify-failure.ts';
import type { Deadline } from '../async/deadline.ts';
import { Exchange, headerOf } from './http/exchange.ts';
import { readAnswer } from './response/read-answer.ts';
import { parseRetryAfter } from './response/retry-after.ts';
import type { SendAnswer } from './response/send-answer.ts';
import type { TokenUse, TokenUses } from './token-use.ts';

type Known = { -readonly [Fact in keyof SendAnswer]: SendAnswer[Fact] };

/** Until there is a token there is nothing to send. */
const NO_HEADERS: readonly string[] = [];

/** One send call: its exchange with the service, and the tokens it uses. */
export class SendCall extends Exchange {
  readonly refused: { tokenId: string; status: RefusalStatus }[] = [];
  readonly #tokens: TokenSource;
  readonly #uses: TokenUses;
  readonly #startedAt = performance.now();
  #token: Token | undefined;
  #use: TokenUse | undefined;
  /** Of the tokens before the last. */
  #earlierSecrets: readonly string[] = [];

  constructor(
    body: string | Uint8Array,
    deadline: Deadline,
    tokens: TokenSource,
    uses: TokenUses,
    ownConnection: boolean,
  ) {
    super(body, NO_HEADERS, deadline, ownConnection);
    this.#tokens = tokens;
    this.#uses = uses;
  }

  /**
   * The token to begin with, or undefined when the caller gave up meanwhile.
   *
   * @throws NoticeQueueError what the token source throws, and TOKEN_INVALID
   */
  async firstToken(): Promise<Token | undefined> {
    return this.#take(await this.#ask(() => this.#tokens.get(this.deadline)));
  }

  /**
   * Notes that the service refused the token and gets the one to go on with, or undefined when the
   * caller gave up meanwhile.
   *
   * @throws NoticeQueueError what the token source throws, and TOKEN_INVALID
   */
  async renewToken(status: RefusalStatus): Promise<Token | undefined> {
    const refused = this.#token;
    if (refused === undefined) return undefined;
    this.refused.push({ tokenId: refused.id, status });
    return this.#take(await this.#ask(() => this.#tokens.renew(refused, status, this.deadline)));
  }

  #take(token: Token | undefined): Token | undefined {
    if (token === undefined) return undefined;
    if (this.#use !== undefined) {
      this.#earlierSecrets = [...this.#earlierSecrets, ...this.#use.secrets];
    }
    this.#token = token;
    this.#use = this.#uses.of(token);
    this.headers = this.#use.headers;
    return token;
  }

  /** What is known now that the call is over. No secret is in it, should the service echo one. */
  answer(): SendAnswer {
    const { facts, requests, refused } = this;
    const token = this.#token;
    // A second refusal ends the call; the hook that notes refusals runs only before another try.
    const last = facts?.status;
    if (token !== undefined && (last === 401 || last === 403) && refused.length < requests) {
      refused.push({ tokenId: token.id, status: last });
    }
    // Field by field: this runs once a send, and objects made of spread objects took a tenth of it.
    const answer: Known = {
      stage: 'answered',
      body: 'none',
      refused,
      requests,
      durationMs: Math.round(performance.now() - this.#startedAt),
    };
    if (token !== undefined) answer.tokenId = token.id;
    if (facts?.status === undefined) {
      answer.stage = facts?.started === true ? 'sent' : 'not-sent';
      return { ...answer, ...this.#failure() };
    }
    const { status, headers, failure, failureCode, tookMs } = facts;
    answer.status = status;
    const read = readAnswer(facts, this.#secrets());
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

  #secrets(): readonly string[] {
    const { secrets = [] } = this.#use ?? {};
    return this.#earlierSecrets.length === 0 ? secrets : [...secrets, ...this.#earlierSecrets];
  }

  /** What ended a call that has no status. Giving up between two tries counts as giving up. */
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

  /** Asks the token source; an error that is not of our family could hold anything and stays here. */
  async #ask(ask: () => Promise<Token>): Promise<Token | undefined> {
    try {
      return await ask();
    } catch (error) {
      const { aborted, cause } = this.deadline;
      if (aborted && cause === 'aborted') return undefined;
      if (error instanceof NoticeQueueError) throw error;
      if (aborted) return undefined;
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token source failed.');
    }
  }
}

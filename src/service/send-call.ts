import type { RefusalStatus, Token, TokenSource } from '../contracts/token.ts';
import { NoticeQueueError } from '../errors.ts';
import { bearerValue } from './bearer.ts';
import type { Failure } from './classify-failure.ts';
import type { Deadline } from './deadline.ts';
import { Exchange, headerOf } from './exchange.ts';
import { readAnswer } from './read-answer.ts';
import { parseRetryAfter } from './retry-after.ts';
import type { SendAnswer } from './send-answer.ts';

/** One send call: its exchange with the service, and the tokens it uses. */
export class SendCall extends Exchange {
  readonly refused: { tokenId: string; status: RefusalStatus }[] = [];
  readonly #tokens: TokenSource;
  readonly #startedAt = performance.now();
  readonly #used = new Set<string>();
  #token: Token | undefined;

  constructor(
    body: string | Uint8Array,
    deadline: Deadline,
    tokens: TokenSource,
    ownConnection: boolean,
  ) {
    super(body, deadline, ownConnection);
    this.#tokens = tokens;
  }

  /**
   * The token to begin with, or undefined when the caller gave up meanwhile.
   *
   * @throws NoticeQueueError what the token source throws
   */
  async firstToken(): Promise<Token | undefined> {
    return this.#take(await this.#ask(() => this.#tokens.get(this.deadline.signal)));
  }

  /**
   * Notes that the service refused the token and gets the one to go on with, or undefined when the
   * caller gave up meanwhile.
   *
   * @throws NoticeQueueError what the token source throws
   */
  async renewToken(status: RefusalStatus): Promise<Token | undefined> {
    const refused = this.#token;
    if (refused === undefined) return undefined;
    this.refused.push({ tokenId: refused.id, status });
    const { signal } = this.deadline;
    return this.#take(await this.#ask(() => this.#tokens.renew(refused, status, signal)));
  }

  #take(token: Token | undefined): Token | undefined {
    if (token !== undefined) {
      this.#token = token;
      this.#used.add(token.value);
    }
    return token;
  }

  /**
   * What is known now that the call is over.
   *
   * @param secrets never to appear in the answer, should the service echo them; the call adds its
   *   tokens
   */
  answer(secrets: readonly string[]): SendAnswer {
    const { facts, requests, refused } = this;
    const token = this.#token;
    // A second refusal ends the call; the hook that notes refusals runs only before another try.
    const last = facts?.status;
    if (token !== undefined && (last === 401 || last === 403) && refused.length < requests) {
      refused.push({ tokenId: token.id, status: last });
    }
    const known = {
      ...(token === undefined ? undefined : { tokenId: token.id }),
      refused,
      requests,
      durationMs: Math.round(performance.now() - this.#startedAt),
    };
    if (facts?.status === undefined) {
      return {
        stage: facts?.started === true ? 'sent' : 'not-sent',
        body: 'none',
        ...this.#failure(),
        ...known,
      };
    }
    const { json: _json, ...read } = readAnswer(facts, [...secrets, ...this.#tokenForms()]);
    const { status, headers, failure, failureCode, tookMs } = facts;
    const retryAfterMs = parseRetryAfter(
      headerOf(headers, 'retry-after'),
      headerOf(headers, 'date'),
      Date.now(),
    );
    return {
      stage: 'answered',
      status,
      ...read,
      ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
      ...(tookMs === undefined ? undefined : { answerMs: tookMs }),
      ...(failure === undefined ? undefined : { failure }),
      ...(failureCode === undefined ? undefined : { failureCode }),
      ...known,
    };
  }

  /** The tokens of this call, in both forms in which a service could echo them. */
  #tokenForms(): string[] {
    return [...this.#used].flatMap((value) => [value, bearerValue(value, 'v1')]);
  }

  /** What ended a call that has no status. Giving up between two tries counts as giving up. */
  #failure(): { failure: Failure; failureCode?: string } {
    const { facts, deadline } = this;
    const gaveUp = deadline.signal.aborted && deadline.cause === 'aborted';
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
      const { signal, cause } = this.deadline;
      if (signal.aborted && cause === 'aborted') return undefined;
      if (error instanceof NoticeQueueError) throw error;
      if (signal.aborted) return undefined;
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The token source failed.');
    }
  }
}

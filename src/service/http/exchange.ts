import type { TransportFailure } from './classify-failure.ts';
import type { Deadline } from '../../async/deadline.ts';

/** Headers of an answer by lower-case name; repeated headers have a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a header; the first if there are several. */
export function headerOf(headers: AnswerHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * What was observed of one request.
 *
 * `started` is the proof on which outcomes are based: false means that the request was never written to a
 * connected (for https: secured) socket. A status decides, even if the body broke.
 */
export interface WireFacts {
  started: boolean;
  /** Status of the final answer; 1xx answers are not final. */
  status: number | undefined;
  headers: AnswerHeaders | undefined;
  /** The body as far as it was read ({@link Exchange.answerLimit}). */
  chunks: Uint8Array[];
  /** `broken`: cut off. */
  ending: 'whole' | 'broken' | 'oversized';
  failure: TransportFailure | undefined;
  failureCode: string | undefined;
  /** Milliseconds from the start on a connected socket to the end; undefined if it never started. */
  tookMs: number | undefined;
}

/** Most bytes of an answer's body that are read, where there is no result for each contact. */
export const ANSWER_BYTES = 64 * 1024;

/** How the requests of a call are made. */
interface ExchangeOptions {
  /** How often a request that failed is repeated. */
  readonly retries: number;
  /** Repeats it not only where it was provably not sent, but also where the service failed (5xx). Default: false. */
  readonly repeatsFailures?: boolean;
  /** Each request gets a connection of its own, which is closed afterwards. Default: false. */
  readonly ownConnection?: boolean;
}

/** One call to the service with all its requests, shared by axios, which takes it as `data`, and the transport. */
export class Exchange {
  readonly path: string;
  /** The body of the request, byte for byte; undefined for none. */
  readonly body: string | Uint8Array | undefined;
  /** Names and values in turn: the form that costs undici the least. */
  headers: readonly string[];
  /** Ends the call. */
  readonly deadline: Deadline;
  readonly retries: number;
  readonly repeatsFailures: boolean;
  readonly ownConnection: boolean;
  /** Facts of the last request; undefined before the first. */
  facts: WireFacts | undefined;
  /** Facts of the last request that was answered with a status. */
  answered: WireFacts | undefined;
  /** Requests written to a connected socket. */
  requests = 0;

  constructor(
    path: string,
    body: string | Uint8Array | undefined,
    headers: readonly string[],
    deadline: Deadline,
    { retries, repeatsFailures = false, ownConnection = false }: ExchangeOptions,
  ) {
    this.path = path;
    this.body = body;
    this.headers = headers;
    this.deadline = deadline;
    this.retries = retries;
    this.repeatsFailures = repeatsFailures;
    this.ownConnection = ownConnection;
  }

  /**
   * Most bytes of an answer's body that are read; of a longer one nothing but the status is known. Asked for only
   * where an answer has more than {@link ANSWER_BYTES}.
   */
  answerLimit(): number {
    return ANSWER_BYTES;
  }

  /** Asked right before the first byte of each request; false ends it as `aborted`, and nothing is sent. */
  mayStart(): boolean {
    return true;
  }

  /** Records the facts of a request. */
  record(facts: WireFacts): void {
    this.facts = facts;
    if (facts.started) this.requests += 1;
    if (facts.status !== undefined) this.answered = facts;
  }
}

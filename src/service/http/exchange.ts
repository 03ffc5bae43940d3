import type { TransportFailure } from './classify-failure.ts';
import type { Deadline } from '../../async/deadline.ts';

/** Headers of an answer by lower-case name; a name that came more than once has a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a header; the first where there are several. */
export function headerOf(headers: AnswerHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * What was seen of one request.
 *
 * `started` is the proof that outcomes rest on: false means that the request was never put on a
 * connected (for https: secured) socket. A status that was seen decides, also where the body broke.
 */
export interface WireFacts {
  started: boolean;
  /** Status of the final answer; 1xx answers are not final. */
  status: number | undefined;
  headers: AnswerHeaders | undefined;
  /** The body as far as it was read, at most 64 kB; empty where it comes encoded. */
  chunks: Uint8Array[];
  /** `broken`: cut off, or encoded although nothing of the kind was asked for. */
  ending: 'whole' | 'broken' | 'oversized';
  failure: TransportFailure | undefined;
  failureCode: string | undefined;
  /** Milliseconds from the start on a connected socket to the end; undefined where it never started. */
  tookMs: number | undefined;
}

/**
 * One call to the service with all its tries. It travels as the `data` of the axios request, so
 * that the adapter, the retry policy and the client share it without a global table.
 */
export class Exchange {
  /** What goes out as the request's body, byte for byte; undefined for none. */
  readonly body: string | Uint8Array | undefined;
  /** Names and values in turn, as undici takes them with the least work. */
  headers: readonly string[];
  readonly deadline: Deadline;
  /** Each request goes on a connection made for it and closed after it. */
  readonly ownConnection: boolean;
  /** Facts of the last try; undefined before the first. */
  facts: WireFacts | undefined;
  /** Requests put on a connected socket. */
  requests = 0;
  /** Tries that provably never left. */
  unsent = 0;

  constructor(
    body: string | Uint8Array | undefined,
    headers: readonly string[],
    deadline: Deadline,
    ownConnection = false,
  ) {
    this.body = body;
    this.headers = headers;
    this.deadline = deadline;
    this.ownConnection = ownConnection;
  }

  /** Keeps what was seen of a try. */
  record(facts: WireFacts): void {
    this.facts = facts;
    if (facts.started) this.requests += 1;
    else this.unsent += 1;
  }
}

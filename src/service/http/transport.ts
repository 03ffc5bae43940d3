import type { Dispatcher } from 'undici';
import type { Deadline } from '../../async/cancellation.ts';
import { requestSpan, serverAttributes } from '../../tracing/spans.ts';
import { Slots, type KeptConnections } from './connections.ts';

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
  /** The body as far as it was read ({@link ANSWER_BYTES}). */
  chunks: Uint8Array[];
  /** `broken`: cut off. */
  ending: 'whole' | 'broken' | 'oversized';
  failure: TransportFailure | undefined;
  failureCode: string | undefined;
  /** Milliseconds from the start on a connected socket to the end; undefined if it never started. */
  tookMs: number | undefined;
}

/** Most bytes of an answer's body that are read; of a longer one nothing but the status is known. */
export const ANSWER_BYTES = 64 * 1024;

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
  readonly deadline: Deadline;
  readonly options: ExchangeOptions;
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
    options: ExchangeOptions,
  ) {
    this.path = path;
    this.body = body;
    this.headers = headers;
    this.deadline = deadline;
    this.options = options;
  }

  /** Asked right before the first byte of each request; false ends it as `aborted`, and nothing is sent. */
  mayStart(): boolean {
    return true;
  }

  record(facts: WireFacts): void {
    this.facts = facts;
    if (facts.started) this.requests += 1;
    if (facts.status !== undefined) this.answered = facts;
  }
}

export type Transport = ReturnType<typeof createTransport>;

/** Thrown into undici to drop a request before a byte of it is written; never thrown to callers. */
const DROPPED = new Error('dropped');

/** Kept-alive connections, and connections for one request each. */
export interface Connections {
  readonly kept: KeptConnections;
  readonly own: Dispatcher;
}

/**
 * Makes the transport of a client. Redirects are answers like any other. Nothing is decompressed.
 */
export function createTransport({ kept, own }: Connections, origin: string) {
  const running = new Slots<Try>();
  const server = serverAttributes(origin);

  const dispatched = (exchange: Exchange) =>
    new Promise<WireFacts>((resolve) => {
      const dispatcher = exchange.options.ownConnection === true ? own : kept.current;
      const attempt = new Try(exchange, (seen) => {
        running.remove(slot);
        if (seen.started && seen.failure === 'reset') kept.replace(dispatcher);
        exchange.record(seen);
        resolve(seen);
      });
      const slot = running.add(attempt);
      const request: Dispatcher.DispatchOptions = {
        origin,
        path: exchange.path,
        method: 'POST',
        headers: exchange.headers as string[],
        body: exchange.body ?? null,
        // undici must never send it again by itself.
        idempotent: false,
      };
      try {
        dispatcher.dispatch(request, attempt);
      } catch (error) {
        attempt.onResponseError(undefined, error);
      }
    });

  return {
    /**
     * Makes one request and records what was observed in the exchange, once it has ended; never rejects. A path that
     * does not begin with a slash makes none: it could name another server.
     */
    post: async (exchange: Exchange): Promise<void> => {
      if (!exchange.path.startsWith('/')) return;
      await requestSpan(server, exchange.path, () => dispatched(exchange));
    },
    /** Ends every request under way as `aborted`. */
    cancelAll: (): void => {
      for (const attempt of running) attempt.cancel('aborted');
    },
  };
}

/**
 * One request: waiting -> started -> answering -> settled.
 *
 * - waiting: queued in the pool, or connecting. A request that ends here stays in undici's queue and is
 *   dropped when its turn comes.
 * - started: undici writes it to a connected socket in the same turn of the event loop.
 * - answering: the status is known; whatever breaks from here on, the status decides.
 * - settled: the facts are final; later calls of undici have no effect.
 */
class Try implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #settled: (facts: WireFacts) => void;
  readonly #facts: WireFacts = {
    started: false,
    status: undefined,
    headers: undefined,
    chunks: [],
    ending: 'whole',
    failure: undefined,
    failureCode: undefined,
    tookMs: undefined,
  };
  #controller: Dispatcher.DispatchController | undefined;
  #startedAt = 0;
  #size = 0;
  #open = true;

  constructor(exchange: Exchange, settled: (facts: WireFacts) => void) {
    this.#exchange = exchange;
    this.#settled = settled;
    exchange.deadline.addEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.cancel(this.#exchange.deadline.cause ?? 'aborted');

  /** Ends the request in any state. */
  cancel(cause: 'timeout' | 'aborted'): void {
    if (!this.#open) return;
    this.#facts.failure = cause;
    this.#facts.failureCode = cause === 'timeout' ? 'DEADLINE' : 'ABORTED';
    if (this.#facts.status !== undefined) this.#facts.ending = 'broken';
    this.#settle();
    this.#controller?.abort(DROPPED);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // An error makes undici drop the request before a byte is written and keep the socket for the next
    // one; controller.abort() would destroy the socket.
    const { cause } = this.#exchange.deadline;
    if (cause !== undefined) this.cancel(cause);
    // Not asked of one that was started: it has been sent, whatever the answer.
    if (this.#open && !this.#facts.started && !this.#exchange.mayStart()) this.cancel('aborted');
    if (!this.#open) throw DROPPED;
    // A second start would send the request twice. It ends as sent, without an answer.
    if (this.#facts.started) throw DROPPED;
    this.#facts.started = true;
    this.#startedAt = performance.now();
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    if (status < 200) return;
    this.#facts.status = status;
    this.#facts.headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (!this.#open) return;
    this.#size += chunk.byteLength;
    if (this.#size > ANSWER_BYTES) {
      this.#facts.ending = 'oversized';
      this.#settle();
      controller.abort(DROPPED);
    } else if (this.#facts.ending === 'whole') {
      this.#facts.chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.#settle();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (!this.#open) return;
    const { failure, failureCode } =
      error === DROPPED
        ? { failure: 'reset' as const, failureCode: 'SECOND_START' }
        : classifyFailure(error);
    this.#facts.failure = failure;
    this.#facts.failureCode = failureCode;
    if (this.#facts.status !== undefined) this.#facts.ending = 'broken';
    this.#settle();
  }

  #settle(): void {
    if (!this.#open) return;
    this.#open = false;
    if (this.#facts.started) this.#facts.tookMs = performance.now() - this.#startedAt;
    this.#exchange.deadline.removeEventListener('abort', this.#onAbort);
    this.#settled(this.#facts);
  }
}

/** Why a request failed, for logs and for the few decisions that depend on it. */
export type TransportFailure =
  | 'refused-connection'
  | 'dns'
  | 'tls'
  | 'certificate'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'aborted'
  | 'other';

/**
 * Failures by error code, first match wins. The code names a cause; it proves nothing about what was sent:
 * ECONNRESET occurs before, during and after a request.
 */
const FAILURES: readonly (readonly [RegExp, TransportFailure])[] = [
  [
    /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EACCES)$/,
    'refused-connection',
  ],
  [/^(ENOTFOUND|EAI_[A-Z]+|ENODATA|ESERVFAIL|EBADNAME)$/, 'dns'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_[A-Z_]+|CRL_[A-Z_]+|UNABLE_TO_[A-Z_]+)$/,
    'certificate',
  ],
  [
    /^(ERR_TLS_CERT_[A-Z_]+|ERROR_IN_C[A-Z_]+|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UND_ERR_PRX_TLS)$/,
    'certificate',
  ],
  [/^(EPROTO|ERR_SSL_.+|ERR_TLS_.+)$/, 'tls'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'reset'],
  [/^(HPE_.+|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RE[QS]_CONTENT_LENGTH_MISMATCH)$/, 'protocol'],
  [/^UND_ERR_(DESTROYED|CLOSED)$/, 'aborted'],
];

/** The failure behind an error of a socket, of TLS or of undici. */
export function classifyFailure(error: unknown): {
  failure: TransportFailure;
  failureCode?: string;
} {
  const code = codeOf(error);
  // undici 7.30 loses the code of its HTTP parser's errors.
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return { failure: 'protocol', failureCode: code ?? 'HPE_INVALID' };
  }
  if (code === undefined) return { failure: 'other' };
  const row = FAILURES.find(([pattern]) => pattern.test(code));
  return { failure: row?.[1] ?? 'other', failureCode: code };
}

/** The code of the error; with several addresses, that of the first. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined;
}

import type { Dispatcher } from 'undici';
import { Slots } from '../../async/slots.ts';
import { requestSpan, serverAttributes } from '../../tracing/spans.ts';
import { classifyFailure } from './classify-failure.ts';
import { ANSWER_BYTES } from './exchange.ts';
import type { AnswerHeaders, Exchange, WireFacts } from './exchange.ts';
import type { KeptConnections } from './connections.ts';

/** Makes requests to the service over undici. */
export interface Transport {
  /**
   * Makes one request and records what was observed in the exchange, once it has ended; never rejects. A path that
   * does not begin with a slash makes none: it could name another server.
   */
  post(exchange: Exchange): Promise<unknown>;
  /** Ends every request under way as `aborted`. */
  cancelAll(): void;
}

/** Thrown into undici to drop a request before a byte of it is written; never thrown to callers. */
const DROPPED = new Error('dropped');

/** Kept-alive connections, and connections for one request each. */
export interface Connections {
  readonly kept: KeptConnections;
  readonly own: Dispatcher;
}

/**
 * Makes the transport of a client. Redirects are answers like any other. Nothing is decompressed.
 *
 * @param origin scheme, host and port of all requests
 */
export function createTransport({ kept, own }: Connections, origin: string): Transport {
  const running = new Slots<Try>();
  const server = serverAttributes(origin);

  const dispatched = (exchange: Exchange) =>
    new Promise<WireFacts>((resolve) => {
      const dispatcher = exchange.ownConnection ? own : kept.current;
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
    post: (exchange) =>
      exchange.path.startsWith('/')
        ? requestSpan(server, exchange.path, () => dispatched(exchange))
        : Promise.resolve(),
    cancelAll: () => {
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
    if (this.#size > ANSWER_BYTES && this.#size > this.#exchange.answerLimit()) {
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

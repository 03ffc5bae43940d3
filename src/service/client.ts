import { AxiosError, AxiosHeaders, create as createAxios, type AxiosAdapter } from 'axios';
import axiosRetry from 'axios-retry';
import { Deadline } from '../async/cancellation.ts';
import { withTimeout } from '../async/repeat.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { Notice } from '../contracts/notice.ts';
import type { CancelSignal, IssuedToken, TokenSource } from '../contracts/token.ts';
import { KeptConnections, openDispatcher } from './http/connections.ts';
import {
  createTransport,
  Exchange,
  type Connections,
  type Transport,
  type WireFacts,
} from './http/transport.ts';
import { basicHeader, tokenHeadersOf, requestBody, requestBodyOfBytes } from './request-body.ts';
import { codesOf } from './response/answer-rules.ts';
import { readIssuance } from './response/read-issuance.ts';
import { SendCall, type SendEndpoint, type RequestGuard, type SendAnswer } from './send-call.ts';

const CLOSE_TIMEOUT_MS = 1_000;
/** The deadline of an issuance ends it sooner. */
const ISSUE_RETRIES = 10;

/** Of every request: names and values in turn. */
const HEADERS = [
  ['Accept', 'application/json'],
  ['Accept-Encoding', 'identity'],
  ['User-Agent', 'notice-queue'],
].flat();

export interface SendCallOptions {
  /** Longest time for the whole call in milliseconds: token, retries and answer included. */
  readonly deadlineMs: number;
  /**
   * Opens a connection for each request of this call and closes it afterwards. A kept-alive connection
   * that has died in silence makes an outcome unknown; a new one is found dead before anything is
   * sent. Costs a round trip, two with TLS. Default: false.
   */
  readonly ownConnection?: boolean | undefined;
  /** Checked right before each request. Default: none. */
  readonly guard?: RequestGuard | undefined;
}

/**
 * The client of the messaging service. Built once and reused (service-api, Authentication rule 5). No connection is made
 * before the first call.
 */
export class ServiceClient {
  readonly #settings: ServiceConfig;
  readonly #secrets: readonly string[];
  readonly #basePath: string;
  readonly #connections: Connections;
  readonly #transport: Transport;
  readonly #post: Post;
  readonly #issueHeaders: readonly string[];
  readonly #sendEndpoint: SendEndpoint;

  constructor(settings: ServiceConfig) {
    const { origin, pathname } = new URL(settings.baseUrl);
    const basic = basicHeader(settings.accessKey, settings.secretKey);
    this.#settings = settings;
    this.#secrets = [settings.accessKey, settings.secretKey, basic.slice('Basic '.length)];
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#connections = {
      kept: new KeptConnections(settings),
      own: openDispatcher(settings, false),
    };
    this.#transport = createTransport(this.#connections, origin);
    this.#post = createHttpClient(this.#transport);
    // No body, so no Content-Type (service-api, Request body: none).
    this.#issueHeaders = [...HEADERS, 'Authorization', basic];
    const sendHeaders = [...HEADERS, 'Content-Type', 'application/json'];
    this.#sendEndpoint = {
      post: this.#post,
      path: this.#basePath + settings.sendPath,
      notSentRetries: settings.notSentRetries,
      rules: settings.answerRules,
      acceptedTraceIds: settings.acceptedTraceIds,
      knownCodes: new Set(settings.answerRules === undefined ? [] : codesOf(settings.answerRules)),
      tokenHeaders: tokenHeadersOf(settings.apiVersion, sendHeaders, this.#secrets),
    };
  }

  /**
   * Issues a token (service-api, POST {base_url}/api/v2/token), within `issueDeadlineMs` in total.
   * Retried only where nothing was sent or the service failed.
   *
   * @throws ServiceRefusalError when the service refuses
   * @throws NoticeQueueError SERVICE_UNREACHABLE, TOKEN_UNAVAILABLE or TOKEN_INVALID
   */
  async issueToken(signal?: CancelSignal): Promise<IssuedToken> {
    const deadline = new Deadline(this.#settings.issueDeadlineMs, signal);
    const path = this.#basePath + this.#settings.tokenPath;
    const options = { retries: ISSUE_RETRIES, repeatsFailures: true };
    const exchange = new Exchange(path, undefined, this.#issueHeaders, deadline, options);
    try {
      await this.#post(exchange);
    } finally {
      deadline.close();
    }
    // A status that was seen says more than a connection that was not made afterwards.
    return readIssuance(exchange.answered ?? exchange.facts, this.#secrets, Date.now());
  }

  /**
   * Makes one send call: one request, or two when the token had to be refreshed in between
   * (service-api, Authentication rule 4), and more only for requests that were provably not sent.
   * Returns facts, whatever the service or the network did.
   *
   * @throws NoticeQueueError what `tokens` throws, and TOKEN_INVALID for a token that cannot be put in a
   *   header; the service accepted nothing then
   * @throws what `options.guard` throws to forbid a request
   */
  send(notice: Notice, tokens: TokenSource, options: SendCallOptions): Promise<SendAnswer> {
    return this.#sendBody(requestBody(notice, this.#settings), tokens, options);
  }

  /** The same for contacts that are already the bytes of a JSON array; they are sent unparsed. */
  sendBytes(
    frame: Readonly<Record<string, unknown>>,
    contacts: Uint8Array,
    tokens: TokenSource,
    options: SendCallOptions,
  ): Promise<SendAnswer> {
    const body = requestBodyOfBytes(frame, contacts, this.#settings);
    return this.#sendBody(body, tokens, options);
  }

  async #sendBody(
    body: string | Uint8Array,
    tokens: TokenSource,
    { deadlineMs, ownConnection = false, guard }: SendCallOptions,
  ): Promise<SendAnswer> {
    const deadline = new Deadline(deadlineMs);
    const call = new SendCall(this.#sendEndpoint, body, deadline, ownConnection, guard);
    try {
      await call.run(tokens);
      return call.answer();
    } catch (error) {
      if (call.requests > 0) guard?.noteRefused?.(call.answer());
      throw error;
    } finally {
      deadline.close();
    }
  }

  /** Ends what is under way as `aborted` and closes all connections, within a second. */
  async close(): Promise<void> {
    this.#transport.cancelAll();
    const { kept, own } = this.#connections;
    await withTimeout(Promise.all([kept.destroy(), own.destroy()]), CLOSE_TIMEOUT_MS, undefined);
  }
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

/** Axios converts the headers of every answer to this class, unless they are an instance. */
const NO_HEADERS = new AxiosHeaders();

/** Makes the requests of an exchange, which then has their facts; never rejects. */
export type Post = (exchange: Exchange) => Promise<void>;

/**
 * The one way to make a request: an axios instance over the transport, with axios-retry. What else axios could do is
 * off: the request is the {@link Exchange}, the answer what the transport observed.
 */
function createHttpClient(transport: Transport): Post {
  const client = createAxios();
  for (const name of Object.keys(client.defaults)) Reflect.deleteProperty(client.defaults, name);
  const adapter: AxiosAdapter = async (config) => {
    const exchange: unknown = config.data;
    if (!(exchange instanceof Exchange)) throw new AxiosError('no exchange', 'ERR_BAD_OPTION');
    await transport.post(exchange);
    if (mayRepeat(exchange)) throw new AxiosError('to be repeated', undefined, config);
    const status = exchange.facts?.status ?? 0;
    return { data: undefined, status, statusText: '', headers: NO_HEADERS, config };
  };
  Object.assign(client.defaults, { adapter });
  axiosRetry(client, {
    retryCondition: ({ config }) => config?.data instanceof Exchange && mayRepeat(config.data),
    retryDelay: repeatDelay,
  });
  return async (exchange) => {
    if (exchange.deadline.cause !== undefined) return;
    const { deadline: signal, options } = exchange;
    try {
      await client.request({ data: exchange, signal, 'axios-retry': { retries: options.retries } });
    } catch {
      // Errors of axios have the headers and the body of the request, so they end here.
    }
  };
}

/**
 * Whether a request may be made again: where it was provably not sent, for a reason that may be gone a moment later,
 * and an issuance also where the service failed (5xx). Anything else may have been accepted; an issuance without an
 * answer may still issue a token, and invalidate the one that another request gets.
 */
function mayRepeat({ facts, deadline, options }: Exchange): boolean {
  if (facts === undefined || deadline.cause !== undefined) return false;
  const { status } = facts;
  if (status !== undefined)
    return options.repeatsFailures === true && status >= 500 && status <= 599;
  return !facts.started && isPassing(facts);
}

/** A certificate that does not verify stays so, and a call that was given up has ended. */
const isPassing = ({ failure, failureCode }: WireFacts): boolean =>
  failure !== 'certificate' && failure !== 'aborted' && failureCode !== 'DEADLINE';

/** Milliseconds before repeat `count` (from 1): exponential; half of the delay is random. */
const repeatDelay = (count: number): number =>
  Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1)) * (0.5 + Math.random() / 2);

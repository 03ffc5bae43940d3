import type { Contact, Notice } from '../contracts/notice.ts';
import type { CancelSignal, IssuedToken, Token, TokenSource } from '../contracts/token.ts';
import { Deadline } from '../async/cancellation.ts';
import { withTimeout } from '../async/repeat.ts';
import { basicHeader, TokenHeadersCache, requestBody, requestBodyOfBytes } from './request-body.ts';
import { KeptConnections, openDispatcher } from './http/connections.ts';
import { createHttpClient, type Post } from './http/http-client.ts';
import { codesOf } from './response/answer-rules.ts';
import { readIssuance } from './response/read-issuance.ts';
import {
  SendCall,
  type SendEndpoint,
  sendWithRefresh,
  type RequestGuard,
  type SendAnswer,
} from './send-call.ts';
import type { ServiceSettings } from './settings.ts';
import { createTransport, Exchange } from './http/transport.ts';
import type { Connections, Transport } from './http/transport.ts';

const CLOSE_TIMEOUT_MS = 1_000;
/** The deadline of an issuance ends it sooner. */
const ISSUE_RETRIES = 10;

/** Of every request: names and values in turn. */
const HEADERS = [
  ['Accept', 'application/json'],
  ['Accept-Encoding', 'identity'],
  ['User-Agent', 'notice-queue'],
].flat();

const UTF8 = new TextDecoder();

const numbersOf = (contacts: readonly Contact[]): readonly string[] =>
  contacts.map(({ contact }) => contact);

/** The numbers in the JSON of a list of contacts; none where it is no such list. */
function numbersIn(json: Uint8Array): readonly string[] {
  try {
    return numbersOf(JSON.parse(UTF8.decode(json)) as readonly Contact[]);
  } catch {
    return [];
  }
}

/** Limits of a send call. */
export interface SendCallOptions {
  /** Gives the call up at any stage, a request under way included. */
  readonly signal?: CancelSignal | undefined;
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

/** The client of the messaging service. Built once and reused (service-api, Authentication rule 5). */
export interface ServiceClient {
  /**
   * Issues a token (service-api, POST {base_url}/api/v2/token), within `issueDeadlineMs` in total.
   * Retried only where nothing was sent or the service failed.
   *
   * @throws ServiceRefusalError when the service refuses
   * @throws NoticeQueueError SERVICE_UNREACHABLE, TOKEN_UNAVAILABLE or TOKEN_INVALID
   */
  issueToken(signal?: CancelSignal): Promise<IssuedToken>;
  /**
   * Makes one send call: one request, or two when the token had to be refreshed in between
   * (service-api, Authentication rule 4), and more only for requests that were provably not sent.
   * Returns facts, whatever the service or the network did.
   *
   * @throws NoticeQueueError what `tokens` throws, and TOKEN_INVALID for a token that cannot be put in a
   *   header; the service accepted nothing then
   * @throws what `options.guard` throws to forbid a request
   */
  send(notice: Notice, tokens: TokenSource, options: SendCallOptions): Promise<SendAnswer>;
  /** The same for contacts that are already the bytes of a JSON array; they are sent unparsed. */
  sendBytes(
    frame: Readonly<Record<string, unknown>>,
    contacts: Uint8Array,
    tokens: TokenSource,
    options: SendCallOptions,
  ): Promise<SendAnswer>;
  /** Ends what is under way as `aborted` and closes all connections, within a second. */
  close(): Promise<void>;
}

/** Builds the client. No connection is made before the first call. */
export function createServiceClient(settings: ServiceSettings): ServiceClient {
  return new HttpServiceClient(settings);
}

class HttpServiceClient implements ServiceClient {
  readonly #settings: ServiceSettings;
  readonly #secrets: readonly string[];
  readonly #basePath: string;
  readonly #connections: Connections;
  readonly #transport: Transport;
  readonly #post: Post;
  readonly #issueHeaders: readonly string[];
  readonly #sendEndpoint: SendEndpoint;

  constructor(settings: ServiceSettings) {
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
      acceptedTraceIds: settings.acceptedTraceIds ?? true,
      knownCodes: new Set(settings.answerRules === undefined ? [] : codesOf(settings.answerRules)),
      tokenHeaders: new TokenHeadersCache(settings.apiVersion, sendHeaders, this.#secrets),
    };
  }

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

  send(notice: Notice, tokens: TokenSource, options: SendCallOptions): Promise<SendAnswer> {
    const numbers = () => numbersOf(notice.contacts);
    return this.#sendBody(requestBody(notice, this.#settings), numbers, tokens, options);
  }

  sendBytes(
    frame: Readonly<Record<string, unknown>>,
    contacts: Uint8Array,
    tokens: TokenSource,
    options: SendCallOptions,
  ): Promise<SendAnswer> {
    // Parsed only for an answer with results per contact.
    const numbers = () => numbersIn(contacts);
    const body = requestBodyOfBytes(frame, contacts, this.#settings);
    return this.#sendBody(body, numbers, tokens, options);
  }

  async #sendBody(
    body: string | Uint8Array,
    numbers: () => readonly string[],
    tokens: TokenSource,
    { signal, deadlineMs, ownConnection = false, guard }: SendCallOptions,
  ): Promise<SendAnswer> {
    const deadline = new Deadline(deadlineMs, signal);
    const call = new SendCall(this.#sendEndpoint, body, {
      deadline,
      ownConnection,
      numbers,
      guard,
    });
    try {
      const request = (token: Token) => call.request(token);
      await sendWithRefresh({ tokens, deadline, guard, request });
      return call.answer();
    } catch (error) {
      if (call.requests > 0) guard?.noteRefused?.(call.answer());
      throw error;
    } finally {
      deadline.close();
    }
  }

  async close(): Promise<void> {
    this.#transport.cancelAll();
    const { kept, own } = this.#connections;
    await withTimeout(Promise.all([kept.destroy(), own.destroy()]), CLOSE_TIMEOUT_MS, undefined);
  }
}

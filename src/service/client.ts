import { once } from 'node:events';
import type { AxiosInstance } from 'axios';
import type { Notice } from '../contracts/notice.ts';
import type { IssuedToken, TokenSource } from '../contracts/token.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { basicHeader } from './bearer.ts';
import { Deadline } from '../async/deadline.ts';
import { openDispatcher } from './http/dispatcher.ts';
import { Exchange } from './http/exchange.ts';
import { createHttpClient } from './http/http-client.ts';
import { ISSUE_POLICY } from './issue-policy.ts';
import { readIssuance } from './response/read-issuance.ts';
import { requestBody, requestBodyOfBytes } from './request-body.ts';
import type { SendAnswer } from './response/send-answer.ts';
import { SendCall } from './send-call.ts';
import { sendPolicy } from './send-policy.ts';
import type { ServiceSettings } from './settings.ts';
import { TokenUses } from './token-use.ts';
import { createUndiciAdapter } from './http/undici-adapter.ts';
import type { Dispatchers, UndiciAdapter } from './http/undici-adapter.ts';

const CLOSE_DEADLINE_MS = 1_000;

/** Of every request; names and values in turn. */
const HEADERS = ['Accept', 'application/json', 'User-Agent', 'notice-queue'];

/** How a send call is bounded. */
export interface SendCallOptions {
  /** Gives the call up, at any stage. */
  readonly signal?: AbortSignal | undefined;
  /** Longest time for the whole call in milliseconds: token, retries and answer included. */
  readonly deadlineMs: number;
  /**
   * Makes a connection for each request of this call and closes it after: a kept one that has died
   * in silence makes an outcome unknown, a new one is found dead before anything is sent. Costs a
   * round trip, two with TLS. Default: false.
   */
  readonly ownConnection?: boolean | undefined;
}

/** The client of the messaging service. Built once and reused (service-api, Authentication rule 5). */
export interface ServiceClient {
  /**
   * Issues a token (service-api, POST {base_url}/api/v2/token), within `issueDeadlineMs` in total.
   * Tried again only where nothing was sent or the service failed.
   *
   * @throws ServiceRefusalError when the service refuses; a subclass for each documented code
   * @throws NoticeQueueError SERVICE_UNREACHABLE, TOKEN_UNAVAILABLE or TOKEN_INVALID
   */
  issueToken(signal?: AbortSignal): Promise<IssuedToken>;
  /**
   * Makes one send call: one request, or two when the token had to be renewed in between
   * (service-api, Authentication rule 4), and more only for what provably never left.
   * Answers facts, whatever the service or the network did.
   *
   * @throws NoticeQueueError what `tokens` throws, as it is, and TOKEN_INVALID for a token that
   *   cannot stand in a header; the service accepted nothing then
   */
  send(notice: Notice, tokens: TokenSource, options: SendCallOptions): Promise<SendAnswer>;
  /** The same for contacts that are already the bytes of a JSON array; they are sent unread. */
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
  readonly #dispatchers: Dispatchers;
  readonly #wire: UndiciAdapter;
  readonly #issueHttp: AxiosInstance;
  readonly #issueHeaders: readonly string[];
  readonly #sendHttp: AxiosInstance;
  readonly #tokenUses: TokenUses;

  constructor(settings: ServiceSettings) {
    const { origin, pathname } = new URL(settings.baseUrl);
    const basic = basicHeader(settings.accessKey, settings.secretKey);
    this.#settings = settings;
    this.#secrets = [settings.accessKey, settings.secretKey, basic.slice('Basic '.length)];
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#dispatchers = {
      kept: openDispatcher(settings, true),
      own: openDispatcher(settings, false),
    };
    this.#wire = createUndiciAdapter(this.#dispatchers, origin);
    const { adapter } = this.#wire;
    this.#issueHttp = createHttpClient(adapter, ISSUE_POLICY);
    // No body, so no type (service-api, Request body: none).
    this.#issueHeaders = [...HEADERS, 'Authorization', basic];
    this.#sendHttp = createHttpClient(adapter, sendPolicy(settings));
    const sendHeaders = [...HEADERS, 'Content-Type', 'application/json'];
    this.#tokenUses = new TokenUses(settings.apiVersion, sendHeaders, this.#secrets);
  }

  async issueToken(signal?: AbortSignal): Promise<IssuedToken> {
    const deadline = new Deadline(this.#settings.issueDeadlineMs, signal);
    const exchange = new Exchange(undefined, this.#issueHeaders, deadline);
    try {
      await this.#request(this.#issueHttp, this.#settings.tokenPath, exchange);
    } finally {
      deadline.close();
    }
    return readIssuance(exchange.facts, this.#secrets, Date.now());
  }

  send(notice: Notice, tokens: TokenSource, options: SendCallOptions): Promise<SendAnswer> {
    return this.#sendBody(requestBody(notice, this.#settings), tokens, options);
  }

  sendBytes(
    frame: Readonly<Record<string, unknown>>,
    contacts: Uint8Array,
    tokens: TokenSource,
    options: SendCallOptions,
  ): Promise<SendAnswer> {
    return this.#sendBody(requestBodyOfBytes(frame, contacts, this.#settings), tokens, options);
  }

  async #sendBody(
    body: string | Uint8Array,
    tokens: TokenSource,
    { signal, deadlineMs, ownConnection = false }: SendCallOptions,
  ): Promise<SendAnswer> {
    const deadline = new Deadline(deadlineMs, signal);
    const call = new SendCall(body, deadline, tokens, this.#tokenUses, ownConnection);
    try {
      const token = await call.firstToken();
      if (token !== undefined) {
        await this.#request(this.#sendHttp, this.#settings.sendPath, call);
      }
      return call.answer();
    } finally {
      deadline.close();
    }
  }

  /**
   * Runs an exchange; its facts tell what happened. Errors of axios hold headers and body and end
   * here. Only those of our own family pass, which the hook of the send policy threw.
   */
  async #request(http: AxiosInstance, path: string, exchange: Exchange): Promise<void> {
    try {
      await http.request({
        url: this.#basePath + path,
        data: exchange,
        signal: exchange.deadline,
      });
    } catch (error) {
      if (error instanceof NoticeQueueError) throw error;
    }
  }

  async close(): Promise<void> {
    this.#wire.cancelAll();
    const deadline = new Deadline(CLOSE_DEADLINE_MS);
    const { kept, own } = this.#dispatchers;
    const destroyed = Promise.all([kept.destroy(), own.destroy()]);
    await Promise.race([destroyed, once(deadline.signal, 'abort')]);
    deadline.close();
  }
}

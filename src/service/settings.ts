import type { AnswerRules } from '../contracts/answer-rules.ts';

/** Versions of the API (service-api, Versioning): they differ in the bearer value. */
export type ApiVersion = 'v1' | 'v2';

/** Settings of the service client. Times are in milliseconds. */
export interface ServiceSettings {
  /** Base address of the service, such as `https://api.example.com`; it may end in a path. */
  readonly baseUrl: string;
  /** Issued with the secret key when an app is created. Secret. */
  readonly accessKey: string;
  /** Issued with the access key. Secret. */
  readonly secretKey: string;
  /** v1 or v2. */
  readonly apiVersion: ApiVersion;
  /** Path of the token endpoint; one leading slash. */
  readonly tokenPath: string;
  /** Path of the send endpoint of `apiVersion`; one leading slash. */
  readonly sendPath: string;
  /** Name that `chatSenderKey` has in the request body (service-api, Send request body). */
  readonly chatSenderKeyField: string;
  /** Sender key of the messenger channel for notices without one. */
  readonly defaultChatSenderKey?: string | undefined;
  /** Sender key for SMS for notices without one. */
  readonly defaultSenderKey?: string | undefined;
  /** PEM certificates to trust instead of Node's own. Default: Node's own. */
  readonly tlsCa?: string | undefined;
  /** Proxy to tunnel through. Default: none; proxy variables of the environment are never read. */
  readonly proxyUrl?: string | undefined;
  /** Rules that decide about answers before the built-in table does. Default: none. */
  readonly answerRules?: AnswerRules | undefined;
  /** Whether answers that accept have their trace id: it is of use in a log at level debug only. Default: true. */
  readonly acceptedTraceIds?: boolean | undefined;
  /** Longest time to connect, TLS handshake included; accurate to about a second. */
  readonly connectTimeoutMs: number;
  /** Longest time without data from the service after a request; accurate to about a second. */
  readonly answerTimeoutMs: number;
  /** Longest time for a token issuance, retries included. */
  readonly issueDeadlineMs: number;
  /** How often a request that was provably not sent is repeated. */
  readonly notSentRetries: number;
  /**
   * Most connections at the same time; further sends wait within their deadline. After a reset, those on which
   * requests still end come on top.
   */
  readonly connections: number;
}

import type { AnswerRules } from '../contracts/answer-rules.ts';

/** Versions of the API (service-api, Versioning): they differ in the bearer value. */
export type ApiVersion = 'v1' | 'v2';

/** Settings of the service client, as config/variables/service.ts explains them. Times are in milliseconds. */
export interface ServiceSettings {
  readonly baseUrl: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly apiVersion: ApiVersion;
  readonly tokenPath: string;
  readonly sendPath: string;
  /** Name that `chatSenderKey` has in the request body (service-api, Send request body). */
  readonly chatSenderKeyField: string;
  readonly defaultChatSenderKey?: string | undefined;
  readonly defaultSenderKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly proxyUrl?: string | undefined;
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
  /** Most at the same time; after a reset, those on which requests still end come on top. */
  readonly connections: number;
}

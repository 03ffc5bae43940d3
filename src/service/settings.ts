/** API versions of the service; they share the issuance and differ in the bearer value. */
export type ApiVersion = 'v1' | 'v2';

/** What the service client needs to know. Times are in milliseconds. */
export interface ServiceSettings {
  /** Base address of the service, such as `https://api.example.com`; it may end in a path. */
  readonly baseUrl: string;
  /** Issued with the secret key when an app is created. Secret. */
  readonly accessKey: string;
  /** Issued with the access key. Secret. */
  readonly secretKey: string;
  readonly apiVersion: ApiVersion;
  /** Path of the token endpoint; one leading slash. */
  readonly tokenPath: string;
  /** Path of the send endpoint of `apiVersion`; one leading slash. */
  readonly sendPath: string;
  /** Name that `chatSenderKey` has in the request body (service-api, Send request body). */
  readonly chatSenderKeyField: string;
  /** Sender key of the messenger channel for notices that name none. */
  readonly defaultChatSenderKey?: string | undefined;
  /** Sender key for SMS for notices that name none. */
  readonly defaultSenderKey?: string | undefined;
  /** PEM certificates to trust in place of Node's own; left out, Node's own. */
  readonly tlsCa?: string | undefined;
  /** Proxy to tunnel through; left out, none: the environment's proxy variables are never read. */
  readonly proxyUrl?: string | undefined;
  /** Longest time until a connection stands, TLS handshake included; accurate to about a second. */
  readonly connectTimeoutMs: number;
  /** Longest silence of the service after a request; accurate to about a second. */
  readonly answerTimeoutMs: number;
  /** Longest time for an issuance, its retries included. */
  readonly issueDeadlineMs: number;
  /** How often one send call tries again what provably never left. */
  readonly notSentRetries: number;
  /** Most connections held at once; a send beyond them waits within its deadline. */
  readonly connections: number;
}

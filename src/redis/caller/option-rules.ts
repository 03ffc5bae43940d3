import type { ConnectionOptions } from 'node:tls';
import type { ClusterOptions, RedisOptions } from 'ioredis';

/**
 * What becomes of an option of a caller's connection.
 *
 * - `address`: where the server is, and who asks; becomes the address of our connections.
 * - `transport`: how bytes get there; our connections have the same.
 * - `ours`: how an outage and a reply are handled; our connections have settings of their own.
 * - anything else: refused unless it has its default, and this is the problem.
 */
export type OptionRule = 'address' | 'transport' | 'ours' | `expected ${string}`;

const NO_PREFIX =
  'expected none: the option prefix of the queue is the beginning of every key, and all programs must use the same';

/** Every option of a connection to one server, or to the master that Sentinels name. */
export const REDIS_OPTION_RULES = {
  host: 'address',
  port: 'address',
  db: 'address',
  username: 'address',
  password: 'address',
  sentinels: 'address',
  name: 'address',
  sentinelPassword: 'address',
  tls: 'address',
  sentinelTLS: 'address',
  enableTLSForSentinelMode: 'address',
  clientInfoTag: 'transport',
  connectionName: 'transport',
  disableClientInfo: 'transport',
  failoverDetector: 'transport',
  family: 'transport',
  keepAlive: 'transport',
  natMap: 'transport',
  noDelay: 'transport',
  protocol: 'transport',
  sentinelMaxConnections: 'transport',
  sentinelUsername: 'transport',
  updateSentinels: 'transport',
  autoPipeliningIgnoredCommands: 'ours',
  autoResendUnfulfilledCommands: 'ours',
  autoResubscribe: 'ours',
  blockingTimeout: 'ours',
  blockingTimeoutGrace: 'ours',
  commandQueue: 'ours',
  commandTimeout: 'ours',
  connectTimeout: 'ours',
  disconnectTimeout: 'ours',
  enableAutoPipelining: 'ours',
  enableOfflineQueue: 'ours',
  enableReadyCheck: 'ours',
  himportFieldsets: 'ours',
  lazyConnect: 'ours',
  maxLoadingRetryTime: 'ours',
  maxRetriesPerRequest: 'ours',
  offlineQueue: 'ours',
  preferredSlaves: 'ours',
  reconnectOnError: 'ours',
  replyMapping: 'ours',
  retryStrategy: 'ours',
  scripts: 'ours',
  sentinelCommandTimeout: 'ours',
  sentinelReconnectStrategy: 'ours',
  sentinelRetryStrategy: 'ours',
  showFriendlyErrorStack: 'ours',
  socketTimeout: 'ours',
  stringNumbers: 'ours',
  keyPrefix: NO_PREFIX,
  path: 'expected host and port: a Unix socket is not supported',
  Connector: 'expected none: whether it uses TLS cannot be checked',
  role: 'expected master: a queue cannot be written to a replica',
  readOnly: 'expected false: a queue cannot be written to a replica',
  monitor: 'expected false: a connection that monitors takes no commands',
} as const satisfies Record<keyof RedisOptions, OptionRule>;

/** Every option of a connection to a Cluster, beside those of its nodes. */
export const CLUSTER_OPTION_RULES = {
  redisOptions: 'address',
  dnsLookup: 'transport',
  maxRedirections: 'transport',
  natMap: 'transport',
  resolveSrv: 'transport',
  slotsRefreshInterval: 'transport',
  slotsRefreshTimeout: 'transport',
  useSRVRecords: 'transport',
  autoPipeliningIgnoredCommands: 'ours',
  clusterNodeRetryStrategy: 'ours',
  clusterRetryStrategy: 'ours',
  enableAutoPipelining: 'ours',
  enableOfflineQueue: 'ours',
  enableReadyCheck: 'ours',
  himportFieldsets: 'ours',
  lazyConnect: 'ours',
  retryDelayOnClusterDown: 'ours',
  retryDelayOnFailover: 'ours',
  retryDelayOnMoved: 'ours',
  retryDelayOnTryAgain: 'ours',
  scripts: 'ours',
  shardedSubscribers: 'ours',
  showFriendlyErrorStack: 'ours',
  keyPrefix: NO_PREFIX,
  scaleReads: 'expected master: a replica may not know yet what was written',
} as const satisfies Record<keyof ClusterOptions, OptionRule>;

/** Names of the options with a rule. */
type Named<Rules, Rule extends OptionRule> = {
  [Name in keyof Rules]: Rules[Name] extends Rule ? Name : never;
}[keyof Rules];

/** Options of a caller that our connection to a server has, too. */
type ServerTransport = Pick<RedisOptions, Named<typeof REDIS_OPTION_RULES, 'transport'>>;

/** The same, of a connection to a Cluster. */
type ClusterTransport = Pick<ClusterOptions, Named<typeof CLUSTER_OPTION_RULES, 'transport'>>;

/** How a caller's connection reaches the server, apart from its address. */
export interface RedisTransport {
  /** Present where it uses TLS. */
  readonly tls?: ConnectionOptions;
  /** TLS to the Sentinels. */
  readonly sentinelTLS?: ConnectionOptions;
  readonly server: ServerTransport;
  readonly cluster: ClusterTransport;
}

/** Values that mean that an option was not set, or has its default. */
const NEUTRAL: ReadonlySet<unknown> = new Set([undefined, null, '', false, 'master']);

/** What is wrong with an option of a caller's connection. */
export interface OptionProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** Options sorted by their rules. */
export interface SortedOptions {
  readonly address: Readonly<Record<string, unknown>>;
  readonly transport: Readonly<Record<string, unknown>>;
  readonly problems: readonly OptionProblem[];
}

/**
 * Sorts the options of a caller's connection.
 *
 * @param isTyped whether a person wrote them down, so that an unknown name is a mistake; a connection of
 *   another version of the client has options that are not known here
 */
export function sortOptions(
  options: object,
  rules: Readonly<Record<string, OptionRule>>,
  at: readonly string[],
  isTyped: boolean,
): SortedOptions {
  const address: Record<string, unknown> = {};
  const transport: Record<string, unknown> = {};
  const problems: OptionProblem[] = [];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      if (isTyped) problems.push({ path: [...at, name], message: 'unknown option' });
    } else if (rule === 'address' || rule === 'transport') {
      const found = rule === 'address' ? address : transport;
      if (value !== undefined && value !== null && value !== '') found[name] = value;
    } else if (rule !== 'ours' && !NEUTRAL.has(value)) {
      problems.push({ path: [...at, name], message: rule });
    }
  }
  return { address, transport, problems };
}

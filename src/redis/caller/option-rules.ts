import type { ConnectionOptions } from 'node:tls';
import type { ClusterOptions, RedisOptions } from 'ioredis';

/** Options of a caller that our connection to a server has, too: how bytes get there. */
const SERVER_TRANSPORT = [
  'clientInfoTag',
  'connectionName',
  'failoverDetector',
  'family',
  'keepAlive',
  'natMap',
  'noDelay',
  'protocol',
  'sentinelMaxConnections',
  'sentinelUsername',
  'updateSentinels',
] as const satisfies readonly (keyof RedisOptions)[];

/** The same, of a connection to a Cluster. */
const CLUSTER_TRANSPORT = [
  'dnsLookup',
  'maxRedirections',
  'natMap',
  'resolveSrv',
  'slotsRefreshInterval',
  'slotsRefreshTimeout',
  'useSRVRecords',
] as const satisfies readonly (keyof ClusterOptions)[];

/** Options that must have their default, and why. What handles an outage or a reply may be any: ours have their own. */
const REFUSED: Readonly<Record<string, string>> = {
  keyPrefix:
    'expected none: the option prefix of the queue is the beginning of every key, and all programs must use the same',
  path: 'expected host and port: a Unix socket is not supported',
  Connector: 'expected none: whether it uses TLS cannot be checked',
  role: 'expected master: a queue cannot be written to a replica',
  readOnly: 'expected false: a queue cannot be written to a replica',
  monitor: 'expected false: a connection that monitors takes no commands',
  scaleReads: 'expected master: a replica may not know yet what was written',
};

/** Values that mean that an option was not set, or has its default. */
const NEUTRAL: ReadonlySet<unknown> = new Set([undefined, null, '', false, 'master']);

/** How a caller's connection reaches the server, apart from its address. */
export interface RedisTransport {
  /** Present where it uses TLS. */
  readonly tls?: ConnectionOptions;
  /** TLS to the Sentinels. */
  readonly sentinelTLS?: ConnectionOptions;
  readonly server: Pick<RedisOptions, (typeof SERVER_TRANSPORT)[number]>;
  readonly cluster: Pick<ClusterOptions, (typeof CLUSTER_TRANSPORT)[number]>;
}

/** What is wrong with an option of a caller's connection. */
export interface OptionProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** The options that are set. */
export function setOptions(options: object): Readonly<Record<string, unknown>> {
  const isSet = (value: unknown) => value !== undefined && value !== null && value !== '';
  return Object.fromEntries(Object.entries(options).filter(([, value]) => isSet(value)));
}

const picked = (options: object, names: readonly string[]) =>
  Object.fromEntries(Object.entries(setOptions(options)).filter(([name]) => names.includes(name)));

export const transportOf = (options: object): RedisTransport['server'] =>
  picked(options, SERVER_TRANSPORT);

export const clusterTransportOf = (options: object): RedisTransport['cluster'] =>
  picked(options, CLUSTER_TRANSPORT);

/** The options that make a connection unsuitable. */
export const refusedOptions = (options: object, at: readonly string[]): OptionProblem[] =>
  Object.entries(options).flatMap(([name, value]) => {
    const message = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
    return message === undefined || NEUTRAL.has(value) ? [] : [{ path: [...at, name], message }];
  });

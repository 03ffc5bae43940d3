import type { ConnectionOptions } from 'node:tls';
import { Redis, type NatMap } from 'ioredis';
import { Cancellation, pause } from '../async/cancellation.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { formatAddress, isLoopbackHost, mayBePlain, type Address } from '../format/plain-hosts.ts';
import { replyCode } from './failure.ts';

/** Address of Redis: one server, or a Sentinel set. */
export interface RedisSettings {
  /** `redis://` or `rediss://`; with Sentinel only its credentials and database count. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sentinels: readonly Address[];
  readonly sentinelName?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  /** PEM text of the authority that signed the server's certificate. */
  readonly tlsCa?: string | undefined;
  readonly connectTimeoutMs: number;
  /** Hosts other than this machine that may be reached without TLS; none if absent. */
  readonly insecureHosts?: readonly string[] | undefined;
}

/** Where Redis is, in words: host and port, or those of Sentinel. No user and no password. */
export function addressOf({ url, sentinels, sentinelName }: RedisSettings): string {
  if (sentinels.length > 0) {
    return `${sentinelName ?? ''} of Sentinel ${sentinels.map(formatAddress).join(', ')}`.trim();
  }
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
}

/** Port of a URL that names none. */
const DEFAULT_PORT = 6_379;

/** A connection to one server, or to its current master. */
export type RedisClient = Redis;

/** The purpose of a connection decides how it handles an outage. */
const ROLES = {
  /**
   * Repeats no command by itself, has no time limit for one, and is not reopened soon when Redis is silent: its owner does
   * all three (src/producer/redis-calls.ts).
   */
  producer: { enableOfflineQueue: false, autoResendUnfulfilledCommands: false },
  /**
   * Fails at once when Redis is unavailable and within `commandTimeoutMs` when it is frozen, so that a request of a
   * person gets its answer in time.
   */
  ops: { enableOfflineQueue: false, maxRetriesPerRequest: 1 },
  /** For status and tools: like `ops`, but waits for the first connection. */
  reader: { maxRetriesPerRequest: 1 },
  /** Retries forever; its blocking commands never time out. */
  worker: { maxRetriesPerRequest: null },
  /** For hints; resubscribes when Redis is back. Hints checks it while it only listens (hints.ts). */
  subscriber: { maxRetriesPerRequest: null },
};

export type ConnectionRole = keyof typeof ROLES;

/** Delays short enough that sending continues within two seconds once Redis is back. */
const retryStrategy = (attempt: number) => Math.min(attempt * 100, 1_000) + Math.random() * 100;

/**
 * A connection without an answer for this long while commands wait counts as dead (a firewall dropped it,
 * or the server vanished): it is reopened and its commands are repeated. Longer than the longest silence
 * of a blocking command of BullMQ, which is ten seconds.
 */
const SILENCE_MS = 15_000;

/** One command that times out may be slow; two without any answer mean a dead connection. */
function timeoutsOf(commandTimeoutMs: number | undefined) {
  if (commandTimeoutMs === undefined) return { socketTimeout: SILENCE_MS };
  const socketTimeout = Math.min(SILENCE_MS, 2 * commandTimeoutMs);
  return { commandTimeout: commandTimeoutMs, socketTimeout };
}

/** A connection that meets a read-only server is reopened at most this often, in milliseconds. */
const REOPEN_EVERY_MS = 1_000;

/**
 * Reopens a connection whose server refuses writes because it is a replica: after a failover the name, the
 * proxy or Sentinel leads to the new master, while the old connection stays with the old one. The refused
 * command still fails, and its caller decides.
 */
function reconnectOnReadOnly(): (error: Error) => boolean {
  let lastAt = -Infinity;
  return (error) => {
    if (replyCode(error) !== 'READONLY') return false;
    const now = performance.now();
    if (now - lastAt < REOPEN_EVERY_MS) return false;
    lastAt = now;
    return true;
  };
}

/**
 * Opens a connection; it connects in the background.
 *
 * @param onError called with every connection error; without a listener ioredis prints them
 * @param commandTimeoutMs longest time of one command, for `ops` and `reader`
 */
export function connectRedis(
  settings: RedisSettings,
  role: ConnectionRole,
  onError: (error: Error) => void,
  commandTimeoutMs?: number,
): RedisClient {
  const url = new URL(settings.url);
  const username = settings.username ?? (decodeURIComponent(url.username) || undefined);
  const password = settings.password ?? (decodeURIComponent(url.password) || undefined);
  const common = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(url.protocol === 'rediss:' ? tlsOptions(settings) : {}),
    connectTimeout: settings.connectTimeoutMs,
    // Else a stream that is closed already, or a server that is silent, would keep the process for two seconds.
    disconnectTimeout: 0,
    retryStrategy,
    reconnectOnError: reconnectOnReadOnly(),
    // Users of docs/redis.md may not name their library.
    disableClientInfo: true,
    ...ROLES[role],
    ...timeoutsOf(commandTimeoutMs),
  };
  const db = Number(url.pathname.slice(1) || 0);
  const { sentinels, sentinelName: name = '', sentinelPassword } = settings;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const nodes = plainNodes(settings);
  const client =
    sentinels.length === 0
      ? new Redis({ ...common, host, port: Number(url.port || DEFAULT_PORT), db })
      : new Redis({
          ...common,
          ...(nodes === undefined ? {} : { natMap: nodes.natMap }),
          sentinelRetryStrategy: retryStrategy,
          sentinels: [...sentinels],
          name,
          ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
          db,
        });
  client.on('error', (error: Error) => onError(nodes?.reported(error) ?? error));
  return client;
}

/**
 * Refuses addresses that Sentinels of this machine name without TLS, unless they are of this machine
 * or in `insecureHosts`. Those of another machine are in `insecureHosts` themselves; what they lead to is not checked.
 * It is an option of the client, so connections that BullMQ makes of ours have it, too.
 */
function plainNodes({ url, sentinels, insecureHosts = [] }: RedisSettings) {
  const isPlain = new URL(url).protocol === 'redis:';
  const isHere = sentinels.every(({ host }) => isLoopbackHost(host));
  if (!isPlain || !isHere) return undefined;
  let last: NoticeQueueError | undefined;
  const natMap: NatMap = (key) => {
    const at = key.lastIndexOf(':');
    const [host, port] = [key.slice(0, at), Number(key.slice(at + 1))];
    if (mayBePlain(host, insecureHosts)) return { host, port };
    // The client catches it and asks the next Sentinel.
    last = new NoticeQueueError(
      'QUEUE_REFUSED',
      `Redis on this machine leads to ${host}:${port} without TLS: use rediss://, or add ${host} to INSECURE_HOSTS (docs/redis.md).`,
    );
    throw last;
  };
  /** Where the client wraps a refusal, the refusal. */
  const reported = (error: Error) =>
    last !== undefined && error.message.includes(last.message) ? last : error;
  return { natMap, reported };
}

/**
 * Drops the connection at once. It is opened again, as after any loss; commands without an answer fail with a lost
 * connection.
 */
export function reopen(client: RedisClient): void {
  // Undefined before the first connection.
  const stream = client.stream as Redis['stream'] | undefined;
  stream?.destroy();
}

/**
 * TLS for Redis and for Sentinels. Without `sentinelTLS` the client would send the Sentinels their password
 * unencrypted, and without `enableTLSForSentinelMode` it would reach the master they name without TLS.
 */
function tlsOptions({ tlsCa }: RedisSettings) {
  const tls: ConnectionOptions = {
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
    rejectUnauthorized: true,
    ...(tlsCa === undefined ? {} : { ca: tlsCa }),
  };
  return { tls, sentinelTLS: tls, enableTLSForSentinelMode: true };
}

/**
 * Waits until the connection can take commands.
 *
 * @returns false on timeout or cancellation
 */
export async function readyWithin(
  client: RedisClient,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (client.status === 'ready') return true;
  const ready = new AbortController();
  const onReady = () => ready.abort();
  client.once('ready', onReady);
  await pause(timeoutMs, new Cancellation(signal, ready.signal));
  client.off('ready', onReady);
  return ready.signal.aborted;
}

/** Connections whose commands are being collected. */
const corked = new WeakSet<object>();

/**
 * Sends all commands of the current turn of the event loop in one write instead of one write each. The
 * commands stay separate, with separate answers. Measured: a fifth less CPU for a send of one contact,
 * because every write wakes Redis. The client's auto-pipelining is slower: it withholds all answers until
 * the last one has arrived.
 */
export function inOneWrite(redis: RedisClient): void {
  // Undefined before the first connection.
  const stream = redis.stream as Redis['stream'] | undefined;
  if (stream === undefined || stream.destroyed || corked.has(stream)) return;
  corked.add(stream);
  stream.cork();
  // Runs after the callbacks of everything that arrived in this turn.
  setImmediate(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

import { Pool, ProxyAgent } from 'undici';
import type { buildConnector, Dispatcher } from 'undici';
import type { ServiceConfig } from '../../config/config.ts';

/** Idle connections are closed before the service does it: a stale one makes an outcome unknown. */
const KEEP_ALIVE_MS = 4_000;
/** How much earlier than the Keep-Alive header of the service says. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** Older connections get no further request, so that a changed address is followed. */
const MAX_AGE_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Opens the connections of a client: to the service, or through the configured proxy.
 *
 * @param keepAlive false: each request gets a connection of its own, so that none uses one that has died
 *   in silence
 */
export function openDispatcher(settings: ServiceConfig, keepAlive: boolean): Dispatcher {
  const { connectTimeoutMs, answerTimeoutMs, connections, proxyUrl, tlsCa } = settings;
  const connect = {
    timeout: connectTimeoutMs,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
    rejectUnauthorized: true,
    ...(tlsCa === undefined ? undefined : { ca: tlsCa }),
  };
  const options = {
    connections,
    // 0 disables keep-alive in undici.
    pipelining: keepAlive ? 1 : 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  if (proxyUrl === undefined) {
    return new Pool(new URL(settings.baseUrl).origin, { ...options, connect });
  }
  return new ProxyAgent({
    ...options,
    uri: proxyUrl,
    requestTls: connect,
    proxyTls: connect,
    // The proxy answers CONNECT within the connect timeout or not at all.
    clientFactory: (origin, given) =>
      new Pool(origin, { ...given, headersTimeout: connectTimeoutMs }),
    factory: (origin, given: Pool.Options) => {
      const { connect: tunnel } = given;
      if (typeof tunnel !== 'function') throw new TypeError('the tunnel has no connector');
      return new Pool(origin, { ...given, connect: failForGood(tunnel) });
    },
  });
}

/**
 * undici treats a connect error with these codes as a lost idle socket and reconnects at once, as long as a
 * request waits: a proxy that closes the connection on CONNECT would be called in a busy loop.
 */
function failForGood(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [error] = result;
      const code = error !== null && 'code' in error ? error.code : undefined;
      if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_INFO') {
        callback(Object.assign(new Error('the proxy hung up'), { code: 'ECONNRESET' }), null);
      } else {
        callback(...result);
      }
    });
}

/**
 * Connections that requests share. Once one is reset under a request, the idle ones are closed: what broke it,
 * such as a gateway that restarts, has usually broken them, too, and each of them would make an outcome unknown.
 */
export class KeptConnections {
  readonly #settings: ServiceConfig;
  #current: Dispatcher;
  #openedAt = performance.now();
  /** Replaced ones with requests in progress. */
  readonly #closing = new Set<Dispatcher>();

  constructor(settings: ServiceConfig) {
    this.#settings = settings;
    this.#current = openDispatcher(settings, true);
  }

  get current(): Dispatcher {
    // Not clientTtl of undici 7.30: its pool at the limit of connections then stops for good.
    if (performance.now() - this.#openedAt > MAX_AGE_MS) this.replace(this.#current);
    return this.#current;
  }

  /**
   * Opens new connections for the requests to come. Those in progress end on the old ones, so for as long there may
   * be more than `connections` at the same time.
   *
   * @param broken the dispatcher of the request that was reset; one that was replaced before, or that opens a
   *   connection for each request, changes nothing
   */
  replace(broken: Dispatcher): void {
    if (broken !== this.#current) return;
    this.#current = openDispatcher(this.#settings, true);
    this.#openedAt = performance.now();
    this.#closing.add(broken);
    const closed = () => this.#closing.delete(broken);
    void broken.close().then(closed, closed);
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#current, ...this.#closing].map((each) => each.destroy()));
  }
}

/**
 * What is under way, where much comes and goes: a place for each, which the next one takes over.
 *
 * Not a Set or a Map. When one of these grows or is tidied up, its old table refers to the new one; once an old table has
 * outlived a collection of young objects, all later tables and what was in them do, too, until the next full
 * collection: what had ended was copied again and again.
 */
export class Slots<Item extends object> {
  readonly #items: (Item | undefined)[] = [];
  readonly #free: number[] = [];

  /** @returns its place, for {@link Slots.remove} */
  add(item: Item): number {
    const slot = this.#free.pop() ?? this.#items.length;
    this.#items[slot] = item;
    return slot;
  }

  /** Frees a place; once for each call of {@link Slots.add}. */
  remove(slot: number): void {
    this.#items[slot] = undefined;
    this.#free.push(slot);
  }

  /** What is there now; it may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item !== undefined) yield item;
  }
}

import type { Dispatcher } from 'undici';
import type { ServiceSettings } from '../settings.ts';
import { openDispatcher } from './dispatcher.ts';

/**
 * Connections that requests share. Once one is reset under a request, the idle ones are closed: what broke it,
 * such as a gateway that restarts, has usually broken them, too, and each of them would make an outcome unknown.
 */
export class KeptConnections {
  readonly #settings: ServiceSettings;
  #current: Dispatcher;
  /** Replaced ones with requests in progress. */
  readonly #closing = new Set<Dispatcher>();

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
    this.#current = openDispatcher(settings, true);
  }

  /** For the next request. */
  get current(): Dispatcher {
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
    this.#closing.add(broken);
    const closed = () => this.#closing.delete(broken);
    void broken.close().then(closed, closed);
  }

  /** Closes all connections at once. */
  async destroy(): Promise<void> {
    await Promise.all([this.#current, ...this.#closing].map((each) => each.destroy()));
  }
}

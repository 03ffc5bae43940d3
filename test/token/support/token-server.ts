import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the next process to issue does: lives, or dies before or after the service issued. */
export type Fate = 'live' | 'die-before' | 'die-after';

/**
 * A service of the kind that keeps one token per app: each issuance kills the token before it. It
 * counts, and tells the callers of the fleet what to do.
 */
export class TokenServer {
  issuances = 0;
  accepted = 0;
  /** Calls accepted with the current token. */
  acceptedNow = 0;
  refused = 0;
  /** Deaths that were handed out. */
  deaths = 0;
  diedAt = 0;
  #token: string | undefined;
  #fate: Fate = 'live';
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const status = this.#answer(request.url ?? '', request.headers.authorization);
      response.writeHead(status.code).end(status.body);
    });
  }

  static async start(): Promise<TokenServer> {
    const server = new TokenServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Invalidates the current token without notice. */
  invalidate(fate: Fate = 'live'): void {
    this.#token = undefined;
    this.#fate = fate;
    this.acceptedNow = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(url: string, authorization: string | undefined): { code: number; body: string } {
    switch (url) {
      case '/fate': {
        const fate = this.#fate;
        this.#fate = 'live';
        if (fate !== 'live') {
          this.deaths += 1;
          this.diedAt = performance.now();
        }
        return { code: 200, body: fate };
      }
      case '/token':
        this.issuances += 1;
        this.acceptedNow = 0;
        this.#token = `t${this.issuances}-${randomBytes(8).toString('hex')}`;
        return { code: 200, body: this.#token };
      default:
        if (this.#token === undefined || authorization !== `Bearer ${this.#token}`) {
          this.refused += 1;
          return { code: 401, body: '' };
        }
        this.accepted += 1;
        this.acceptedNow += 1;
        return { code: 200, body: '' };
    }
  }
}

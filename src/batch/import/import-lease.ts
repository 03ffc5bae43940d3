import type { Ledger } from '../ledger/ledger.ts';

/** An import that has not renewed its lease for this long has stopped. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_000;

/**
 * Shows other processes that the import of a batch is running: a key that expires by itself when the
 * process is killed, and that is deleted when the import ends in any other way.
 */
export class ImportLease {
  readonly #ledger: Pick<Ledger, 'holdImport' | 'releaseImport'>;
  readonly #id: string;
  #timer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> = Promise.resolve();

  constructor(ledger: Pick<Ledger, 'holdImport' | 'releaseImport'>, id: string) {
    this.#ledger = ledger;
    this.#id = id;
  }

  /** Takes the lease and renews it until {@link stop}. Never fails: the import does not depend on it. */
  start(): void {
    const renew = () => {
      this.#renewal = this.#ledger.holdImport(this.#id, LEASE_MS).catch(() => {});
    };
    renew();
    this.#timer = setInterval(renew, RENEW_MS);
  }

  /** Gives the lease back. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewal;
    await this.#ledger.releaseImport(this.#id).catch(() => {});
  }
}

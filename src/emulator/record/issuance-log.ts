import { LastItems } from './last-items.ts';
import type { RefusalCode } from '../service/refusals.ts';

/** One token request, or one issuance by another program. */
export interface Issuance {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the app: first 16 hex digits of the SHA-256 of its access key; null for an unknown key. */
  readonly app: string | null;
  /** Id of the token: first 16 hex digits of its SHA-256; null if none was issued. */
  readonly token: string | null;
  readonly outcome: 'issued' | RefusalCode;
  /** True where the control API issued it, as another program that shares the app would. */
  readonly foreign: boolean;
}

/** Exact counts of issuances. */
export interface IssuanceCounts {
  /** Tokens issued to callers of the token endpoint. */
  readonly issued: number;
  /** Rejected requests to the token endpoint. */
  readonly refused: number;
  /** Tokens issued by the control API as a foreign issuer. */
  readonly foreign: number;
}

/** Counts every issuance and keeps the last ones. */
export class IssuanceLog {
  readonly #last: LastItems<Issuance>;
  #issued = 0;
  #refused = 0;
  #foreign = 0;

  constructor(keep: number) {
    this.#last = new LastItems(keep);
  }

  add(issuance: Issuance): void {
    if (issuance.foreign) this.#foreign += 1;
    else if (issuance.outcome === 'issued') this.#issued += 1;
    else this.#refused += 1;
    this.#last.add(issuance);
  }

  counts(): IssuanceCounts {
    return { issued: this.#issued, refused: this.#refused, foreign: this.#foreign };
  }

  /** The last issuances, oldest first. */
  all(): Issuance[] {
    return this.#last.all();
  }

  clear(): void {
    this.#last.clear();
    this.#issued = 0;
    this.#refused = 0;
    this.#foreign = 0;
  }
}

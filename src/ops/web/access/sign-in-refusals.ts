import { networkOf } from './network.ts';

/** How long the refusals of a network are counted before the next line of the log. */
const QUIET_MS = 60_000;
/** Networks that are remembered; the oldest is forgotten. */
const MOST_NETWORKS = 10_000;

/**
 * Sign-ins that a limit refused before anything was checked. They are in the log once a minute for each
 * network: someone who guesses on is seen there, and cannot fill it.
 */
export class SignInRefusals {
  readonly #networks = new Map<string, { refused: number; until: number }>();

  /**
   * Counts a refusal.
   *
   * @param address of the caller
   * @returns refusals of the network since the last line, with this one; undefined where no line is due
   */
  count(address: string, now: number): number | undefined {
    const network = networkOf(address);
    const found = this.#networks.get(network);
    if (found !== undefined && found.until > now) {
      found.refused += 1;
      return undefined;
    }
    this.#networks.delete(network);
    this.#networks.set(network, { refused: 0, until: now + QUIET_MS });
    const [oldest] = this.#networks.keys();
    if (this.#networks.size > MOST_NETWORKS && oldest !== undefined) this.#networks.delete(oldest);
    return (found?.refused ?? 0) + 1;
  }
}

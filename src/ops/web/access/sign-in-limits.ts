import { createHash } from 'node:crypto';
import { TooManyRequests } from '../http/problem.ts';

/** Sign-ins that are checked or wait for it; a caller above that is refused. */
const MOST_CHECKS = 20;
/** Failed sign-ins of one account from one network, and in what time. */
const MOST_FAILURES = 20;
/** Failed sign-ins of one account from all networks in that time; then only a network counts from which it has signed in. */
const MOST_OF_ACCOUNT = 100;
const WINDOW_MS = 3_600_000;
/** Accounts, and pairs of account and network, that are remembered; the oldest is forgotten. */
const MOST_PAIRS = 10_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/** What a minute's limit of each address does not cover: checks at the same time, and patient guessing. */
export class SignInLimits {
  readonly #failures = new Map<string, Failures>();
  /** Pairs that have signed in since the start. */
  readonly #known = new Set<string>();
  #checks = 0;
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Checks a password, when its turn comes.
   *
   * @param account name that was typed; only its hash is kept
   * @param network of the caller
   * @param now milliseconds of any clock
   * @param find undefined where the password is wrong
   * @throws TooManyRequests without a check
   */
  async check<Found>(
    account: string,
    network: string,
    now: number,
    find: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const pair = hashOf(`${account}\n${network}`);
    const all = hashOf(account);
    this.#refuse(pair, all, now);
    const found = await this.#inTurn(find);
    if (found === undefined) {
      for (const one of [pair, all]) this.#noteFailure(one, now);
    } else {
      this.#failures.delete(pair);
      this.#known.add(pair);
    }
    return found;
  }

  /** @throws TooManyRequests where the account has failed too often, from this network or from all */
  #refuse(pair: string, all: string, now: number): void {
    const own = this.#failuresOf(pair, now);
    const any = this.#known.has(pair) ? undefined : this.#failuresOf(all, now);
    const isOften = (own?.count ?? 0) >= MOST_FAILURES || (any?.count ?? 0) >= MOST_OF_ACCOUNT;
    if (!isOften) return;
    const seconds = Math.ceil((Math.max(own?.until ?? 0, any?.until ?? 0) - now) / 1_000);
    const detail = 'This account has failed too often from this network, or from all.';
    throw new TooManyRequests(seconds, detail);
  }

  /** One at a time: each keeps a core busy for a tenth of a second and longer. */
  async #inTurn<Found>(find: () => Promise<Found>): Promise<Found> {
    if (this.#checks >= MOST_CHECKS) {
      throw new TooManyRequests(5, 'Too many sign-ins are being checked.');
    }
    this.#checks += 1;
    const found = this.#last.then(find);
    this.#last = found.catch(() => undefined);
    try {
      return await found;
    } finally {
      this.#checks -= 1;
    }
  }

  #failuresOf(of: string, now: number): Failures | undefined {
    const found = this.#failures.get(of);
    return found !== undefined && found.until > now ? found : undefined;
  }

  #noteFailure(of: string, now: number): void {
    const { count, until } = this.#failuresOf(of, now) ?? { count: 0, until: now + WINDOW_MS };
    this.#failures.delete(of);
    this.#failures.set(of, { count: count + 1, until });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_PAIRS && oldest !== undefined) this.#failures.delete(oldest);
  }
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');

import { createHash } from 'node:crypto';
import { TooManyRequests } from '../http/problem.ts';

/** Passwords that are checked at a time: each check keeps a core busy for a tenth of a second and longer. */
const MOST_CHECKS = 2;
/** Checks that wait at most; a caller above that is refused. */
const MOST_WAITING = 20;
/** Failed sign-ins of one account from one network, and in what time. */
const MOST_FAILURES = 20;
const WINDOW_MS = 3_600_000;
/** Pairs of account and network that are remembered; the oldest is forgotten. */
const MOST_PAIRS = 10_000;

/** What a minute's limit of each address does not cover: checks at the same time, and patient guessing. */
export class SignInLimits {
  readonly #failures = new Map<string, { count: number; readonly until: number }>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * Checks a password, when its turn comes.
   *
   * @param account name that was typed; only its hash is kept
   * @param network of the caller
   * @param now milliseconds of any clock
   * @param isRight checks the password
   * @throws TooManyRequests without a check
   */
  async check(
    account: string,
    network: string,
    now: number,
    isRight: () => Promise<boolean>,
  ): Promise<boolean> {
    const pair = this.#allowedPair(account, network, now);
    await this.#turn();
    try {
      const isPassword = await isRight();
      this.#note(pair, now, isPassword);
      return isPassword;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** @throws TooManyRequests where the account has failed too often from this network */
  #allowedPair(account: string, network: string, now: number): string {
    const pair = createHash('sha256').update(`${account}\n${network}`).digest('base64url');
    const before = this.#failuresOf(pair, now);
    if (before === undefined || before.count < MOST_FAILURES) return pair;
    throw new TooManyRequests(
      Math.ceil((before.until - now) / 1_000),
      'This account has failed too often from this network.',
    );
  }

  #note(pair: string, now: number, isRight: boolean): void {
    if (isRight) this.#failures.delete(pair);
    else this.#noteFailure(pair, now);
  }

  /** A check that ends passes its turn on. */
  async #turn(): Promise<void> {
    if (this.#running < MOST_CHECKS) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= MOST_WAITING) {
      throw new TooManyRequests(5, 'Too many sign-ins are being checked.');
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #failuresOf(pair: string, now: number): { count: number; readonly until: number } | undefined {
    const found = this.#failures.get(pair);
    return found !== undefined && found.until > now ? found : undefined;
  }

  #noteFailure(pair: string, now: number): void {
    const found = this.#failuresOf(pair, now);
    if (found !== undefined) found.count += 1;
    else {
      this.#failures.delete(pair);
      this.#failures.set(pair, { count: 1, until: now + WINDOW_MS });
      const [oldest] = this.#failures.keys();
      if (this.#failures.size > MOST_PAIRS && oldest !== undefined) this.#failures.delete(oldest);
    }
  }
}

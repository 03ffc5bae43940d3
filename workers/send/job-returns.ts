import { pause } from '../../src/async/cancellation.ts';
import { isKeyOfAccount, readAccountSecret } from '../../src/payload/account-secret.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { delayJob, requeue, type LockedJob } from './disposition.ts';

/** A worker without a key of the account looks this often whether it has one by now. */
const LOOK_AGAIN_MS = 10_000;

/** A job with a key that no worker may have is tried again after this time. */
const FOREIGN_JOB_MS = 60_000;

interface WithoutKey {
  readonly suspend: (reason: 'payload-key', applies: boolean) => void;
  /** Called with how long the worker is not ready from now on. */
  readonly report: (reason: 'payload-key', forMs: number) => void;
}

/**
 * What cannot read takes nothing: a worker that meets a job without having its key, and has no key of the account
 * either, returns the job at once and takes no further ones until it has one.
 */
export class JobReturns {
  readonly #hasKey: () => Promise<boolean | undefined>;
  readonly #keepSecret: () => Promise<unknown>;
  readonly #stopping: AbortSignal;
  readonly #withoutKey: WithoutKey;
  #isWaiting = false;

  /** @param secretKey key of the account's secret, which names the keys of the account */
  constructor(
    redis: RedisClient,
    secretKey: string,
    sealing: Sealing,
    stopping: AbortSignal,
    withoutKey: WithoutKey,
  ) {
    this.#hasKey = () => isKeyOfAccount(redis, secretKey, sealing).catch(() => undefined);
    this.#keepSecret = async () =>
      sealing.keys.length < 2 ? undefined : readAccountSecret(redis, secretKey, sealing);
    this.#stopping = stopping;
    this.#withoutKey = withoutKey;
  }

  /** A worker with both keys keeps the secret of the account over a change of the key; if it fails, the next one does. */
  async keepSecret(): Promise<void> {
    await this.#keepSecret().catch(() => {});
  }

  /**
   * Returns an unsent job without counting an attempt, by throwing.
   * @param release called before: gives back what the run has claimed
   */
  async returnJob(locked: LockedJob, release?: () => Promise<void>): Promise<never> {
    const isOther = await this.#hasKey();
    this.#withoutKey.report('payload-key', 2 * (isOther === true ? FOREIGN_JOB_MS : LOOK_AGAIN_MS));
    if (isOther === false) void this.#wait();
    await release?.();
    return isOther === true ? delayJob(locked, FOREIGN_JOB_MS, 'payload-key') : requeue();
  }

  async #wait(): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { suspend, report } = this.#withoutKey;
    suspend('payload-key', true);
    while (!this.#stopping.aborted && (await this.#hasKey()) !== true) {
      report('payload-key', 2 * LOOK_AGAIN_MS);
      await pause(LOOK_AGAIN_MS, this.#stopping);
    }
    this.#isWaiting = false;
    if (!this.#stopping.aborted) suspend('payload-key', false);
  }
}

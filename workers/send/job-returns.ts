import { pause } from '../../src/async/cancellation.ts';
import { isKeyOfAccount, readAccountSecret } from '../../src/payload/account-secret.ts';
import { PayloadKeyMissing, type Sealing } from '../../src/payload/seal.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { delayJob, requeue, type LockedJob } from './disposition.ts';

/** Why this worker cannot run a job that another worker can: it does not have the key that encrypted the contacts. */
export type ReturnReason = 'payload-key';

/** Why a job is returned whose contacts could not be decrypted; undefined if no worker can read them. */
export function returnReasonOf(error: unknown): ReturnReason | undefined {
  return error instanceof PayloadKeyMissing ? 'payload-key' : undefined;
}

/** A worker without a key of the account looks this often whether it has one by now. */
const LOOK_AGAIN_MS = 10_000;

/** A job with a key that no worker may have is tried again after this time. */
const FOREIGN_JOB_MS = 60_000;

/** What a worker without a key does. */
export interface WithoutKey {
  /** Takes no further jobs while the reason applies. */
  readonly suspend: (reason: ReturnReason, applies: boolean) => void;
  /** Called with how long the worker is not ready from now on. */
  readonly report: (reason: ReturnReason, forMs: number) => void;
}

/**
 * What cannot read takes nothing: a worker that meets a job without having its key, and has no key of the account
 * either, returns the job at once and takes no further ones until it has one.
 */
export class JobReturns {
  readonly #redis: RedisClient;
  readonly #secretKey: string;
  readonly #sealing: Sealing;
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
    this.#redis = redis;
    this.#secretKey = secretKey;
    this.#sealing = sealing;
    this.#stopping = stopping;
    this.#withoutKey = withoutKey;
  }

  /** A worker with both keys keeps the secret of the account over a change of the key; if it fails, the next one does. */
  async keepSecret(): Promise<void> {
    if (this.#sealing.keys.length < 2) return;
    await readAccountSecret(this.#redis, this.#secretKey, this.#sealing).catch(() => {});
  }

  /**
   * Returns an unsent job without counting an attempt, by throwing as {@link requeue} and {@link delayJob} do.
   *
   * @param release called before: gives back what the run has claimed
   */
  async returnJob(
    locked: LockedJob,
    reason: ReturnReason,
    release?: () => Promise<void>,
  ): Promise<never> {
    const { report } = this.#withoutKey;
    const isOther = await this.#hasKey();
    report(reason, isOther === true ? 2 * FOREIGN_JOB_MS : 2 * LOOK_AGAIN_MS);
    if (isOther === false) void this.#wait(reason);
    await release?.();
    if (isOther === true) await delayJob(locked, FOREIGN_JOB_MS, reason);
    return requeue();
  }

  /** @returns undefined while Redis does not answer */
  #hasKey(): Promise<boolean | undefined> {
    return isKeyOfAccount(this.#redis, this.#secretKey, this.#sealing).catch(() => undefined);
  }

  async #wait(reason: ReturnReason): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { suspend, report } = this.#withoutKey;
    const stopping = this.#stopping;
    suspend(reason, true);
    while (!stopping.aborted && (await this.#hasKey()) !== true) {
      report(reason, 2 * LOOK_AGAIN_MS);
      await pause(LOOK_AGAIN_MS, stopping);
    }
    this.#isWaiting = false;
    if (!stopping.aborted) suspend(reason, false);
  }
}

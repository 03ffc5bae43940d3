import { NEWER_JOB_WAIT_MS } from '../../src/contracts/job.ts';
import { returnedForMs } from '../../src/fleet/returned-jobs.ts';
import { PayloadKeyMissing, PayloadNewer, PayloadUnsealed } from '../../src/payload/seal.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { jobKeyOf } from '../queue/send-job.ts';
import { delayJob, requeue, type LockedJob } from './disposition.ts';

/**
 * Why this worker cannot run a job that another worker can:
 *
 * - `payload-key`: it does not have the key that encrypted the contacts.
 * - `unsealed`: it has a key, and the contacts are not encrypted for this place (UNSEALED_PAYLOADS).
 * - `newer-jobs`: the job, or its contacts, have a later version than this worker knows.
 */
export type ReturnReason = 'payload-key' | 'unsealed' | 'newer-jobs';

/** Why a job is returned whose contacts could not be decrypted; undefined if no worker can read them. */
export function returnReasonOf(error: unknown): ReturnReason | undefined {
  if (error instanceof PayloadKeyMissing) return 'payload-key';
  if (error instanceof PayloadNewer) return 'newer-jobs';
  return error instanceof PayloadUnsealed ? 'unsealed' : undefined;
}

/** Longest time from the first return of a job to its last one, in milliseconds. */
const RETURNED_AT_MOST_MS: Readonly<Record<ReturnReason, number>> = {
  'payload-key': Infinity,
  unsealed: Infinity,
  'newer-jobs': NEWER_JOB_WAIT_MS,
};

/** Delays of a returned job: a quarter of the time since its first return, within these, in milliseconds. */
const LEAST_MS = 5_000;
const MOST_MS = 60_000;

/** A worker is not ready for so long after it has returned a job, in milliseconds. */
const UNREADY_MS = 2 * MOST_MS;

/**
 * Returns jobs for other workers: during a change of the key, or an update, workers that can run them exist
 * or are about to be started.
 */
export class JobReturns {
  readonly #redis: RedisClient;
  readonly #onReturn: (reason: ReturnReason, forMs: number) => void;

  /** @param onReturn called at each return, with how long the worker is not ready because of it */
  constructor(redis: RedisClient, onReturn: (reason: ReturnReason, forMs: number) => void) {
    this.#redis = redis;
    this.#onReturn = onReturn;
  }

  /**
   * Delays an unsent job without counting an attempt, by throwing as {@link delayJob} does. It resolves without
   * effect once the job is returned for longer than its reason allows.
   *
   * @param release called before the job is delayed: gives back what the run has claimed
   */
  async returnJob(
    locked: LockedJob,
    reason: ReturnReason,
    release?: () => Promise<void>,
  ): Promise<void> {
    this.#onReturn(reason, UNREADY_MS);
    const forMs = await returnedForMs(this.#redis, jobKeyOf(locked.job)).catch(() => undefined);
    if (forMs !== undefined && forMs > RETURNED_AT_MOST_MS[reason]) return;
    await release?.();
    // Redis does not answer.
    if (forMs === undefined) requeue();
    await delayJob(locked, Math.min(MOST_MS, Math.max(LEAST_MS, forMs / 4)), reason);
  }
}

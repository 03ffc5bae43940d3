import { RateLimitError, UnrecoverableError, type Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import { LONGEST_PAUSE_MS } from '../../src/async/settle-with-retry.ts';
import { findEnd, takeBackStall } from '../../src/fleet/job-ends.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { UnknownOutcomeError } from './attempt-error.ts';
import { jobKeyOf } from './send-job.ts';

/**
 * A worker that still holds the end of a job which was taken from it stores that end within three of its
 * longest pauses once Redis takes writes again.
 */
export const AFTER_STALL_MS = 3 * LONGEST_PAUSE_MS;

/**
 * Called before a job fails although one of its runs may have sent it.
 *
 * @param reason with which it fails
 * @returns whether it is listed as unknown now
 */
export type ListUnknown = (job: Job, reason: string) => Promise<boolean>;

/**
 * Looks for the end that a worker stored which could not record it before its lock ended (send-job.ts). The
 * first run after a stall waits for that worker. While Redis does not answer, the job is requeued.
 *
 * @param trusts false where the ledger knows what became of the contacts: a worker of an earlier version may have stored
 *   an end all the same
 * @returns the result with which the job ends; undefined when none is stored
 * @throws UnrecoverableError with the reason for which the job has failed
 */
export async function endStoredAfterStall(
  job: Job,
  redis: RedisClient,
  trusts: boolean,
  listUnknown?: ListUnknown,
): Promise<unknown> {
  const find = (step: 'ask' | 'waited') => findEnd(redis, jobKeyOf(job), job.stalledCounter, step);
  let end: Awaited<ReturnType<typeof find>>;
  try {
    end = await find('ask');
    if (end === 'wait') {
      await pause(AFTER_STALL_MS);
      end = await find('waited');
    }
  } catch {
    throw new RateLimitError();
  }
  if (end === 'none' || end === 'wait' || !trusts) return undefined;
  const run = { token: job.token ?? '', started: job.attemptsStarted };
  // Without an answer the stall counts as possibly sent.
  const stall = await takeBackStall(redis, jobKeyOf(job), run).catch(() => 'counts' as const);
  if (stall === 'known') job.stalledCounter -= 1;
  if (end.kind === 'completed') return end.result;
  const isListed = stall !== 'lost' && (await listUnknown?.(job, end.reason)) === true;
  const isUnknown = end.unknown === true || isListed;
  throw new (isUnknown ? UnknownOutcomeError : UnrecoverableError)(end.reason);
}

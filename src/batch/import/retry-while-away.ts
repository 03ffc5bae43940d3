import { setTimeout as pause } from 'node:timers/promises';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { WriteRefused } from '../../redis/failure.ts';

/** How long an import retries while Redis does not answer or refuses writes, as in a restart or failover. */
const RETRY_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Runs a step and retries it while Redis does not answer or refuses writes, for up to a minute. Steps are safe to
 * repeat, whether or not Redis executed them.
 *
 * @param isImport when the signal aborts meanwhile, it is the import that was stopped; else the error of the step is
 *   thrown
 * @throws NoticeQueueError as the step does, after a minute where it may pass; IMPORT_STOPPED
 */
export async function retryWhileAway<Result>(
  step: () => Promise<Result>,
  signal: AbortSignal | undefined,
  isImport = true,
): Promise<Result> {
  const until = performance.now() + RETRY_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      const mayPass =
        error instanceof WriteRefused ||
        (error instanceof NoticeQueueError && error.code === 'QUEUE_UNAVAILABLE');
      if (!mayPass || performance.now() > until) throw error;
      const pausing = pauseFor(Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS), signal);
      await pausing.catch((stopped: unknown) => {
        throw isImport ? stopped : error;
      });
    }
  }
}

/** Waits. @throws NoticeQueueError IMPORT_STOPPED if the signal aborts first */
export async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {
    throw new NoticeQueueError('IMPORT_STOPPED');
  });
}

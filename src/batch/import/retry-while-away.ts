import { setTimeout as pause } from 'node:timers/promises';
import { NoticeQueueError } from '../../contracts/errors.ts';

/** For how long an import puts up with a Redis that does not answer, such as one that restarts. */
const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Does a step of an import again while Redis does not answer. Steps are safe to repeat, whether or
 * not Redis had taken them.
 *
 * @throws NoticeQueueError as the step does; QUEUE_UNAVAILABLE after a minute; IMPORT_STOPPED
 */
export async function retryWhileAway<Result>(
  step: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const until = performance.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      const away = error instanceof NoticeQueueError && error.code === 'QUEUE_UNAVAILABLE';
      if (!away || performance.now() > until) throw error;
    }
    await pauseFor(Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS), signal);
  }
}

/** @throws NoticeQueueError IMPORT_STOPPED when the signal comes first */
export async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {
    throw new NoticeQueueError('IMPORT_STOPPED');
  });
}

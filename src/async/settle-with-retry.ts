import { NoticeQueueError } from '../contracts/errors.ts';
import { pause } from './cancellation.ts';

/** Longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE_MS = 500;

/**
 * Records a known outcome in Redis, repeating the command until Redis has answered it: a known outcome
 * must not become unknown because Redis restarts or refuses writes. It gives up only when the process
 * ends, killed or at the end of its time to stop; the attempt is then found as one that never ended.
 *
 * @param settle records the outcome; must have the same effect when repeated
 * @param onFailure called with the first error
 * @param mayPass whether the next try may succeed after this error. Default: for each error of this
 *   package's family, into which failures of Redis are translated (src/redis/failure.ts)
 * @returns what `settle` resolves to
 * @throws an error after which no try can succeed: a program error
 */
export async function settleWithRetry<Result>(
  settle: () => Promise<Result>,
  onFailure: (error: unknown) => void,
  mayPass: (error: unknown) => boolean = (error) => error instanceof NoticeQueueError,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await settle();
    } catch (error) {
      if (tries === 0) onFailure(error);
      if (!mayPass(error)) throw error;
    }
    await pause(Math.min(LONGEST_PAUSE_MS, 50 * 2 ** Math.min(tries, 10)));
  }
}

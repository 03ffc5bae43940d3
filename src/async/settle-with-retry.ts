import { pause } from './cancellation.ts';

/** Longest pause between two tries, in milliseconds. */
const LONGEST_MS = 1_000;

/**
 * Records a known outcome in Redis, repeating the command until Redis has answered it: a known outcome
 * must not become unknown because Redis restarts. It gives up only when the process ends, killed or at the
 * end of its time to stop; the attempt is then found as one that never ended.
 *
 * @param settle records the outcome; must have the same effect when repeated
 * @param onFailure called with the first error
 */
export async function settleWithRetry(
  settle: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await settle();
      return;
    } catch (error) {
      if (tries === 0) onFailure(error);
    }
    await pause(Math.min(LONGEST_MS, 50 * 2 ** Math.min(tries, 10)));
  }
}

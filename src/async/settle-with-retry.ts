import { setTimeout } from 'node:timers/promises';

/** Longest wait between two tries. */
const LONGEST_MS = 1_000;

/**
 * Tells the ledger what became of a chunk, again and again until Redis has heard it: an outcome that
 * is known must not become unknown because Redis restarts. The process ends before only when it is
 * killed or its time to stop runs out; the chunk is then found as under way.
 *
 * @param onFailure told of the first failure
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
    await setTimeout(Math.min(LONGEST_MS, 50 * 2 ** Math.min(tries, 10)));
  }
}

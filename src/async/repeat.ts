import { NoticeQueueError } from '../contracts/errors.ts';
import { pause } from './cancellation.ts';

/**
 * Runs work again and again, with a pause after each run: a slow run delays only itself. The pause varies by a
 * fifth, so that the processes of a fleet do not all run at the same time. A second start has no effect; a stop waits for
 * the run in progress.
 *
 * @param work must not reject
 */
export function repeat(work: () => Promise<void>, everyMs: number) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  const run = () => {
    running = work().finally(() => {
      if (!isStopped) timer = setTimeout(run, everyMs * (0.8 + Math.random() * 0.4));
    });
  };
  return {
    start: () => {
      if (running === undefined && !isStopped) run();
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE_MS = 500;

/**
 * Records a known outcome in Redis, repeating the command until Redis has answered it: a known outcome
 * must not become unknown because Redis restarts or refuses writes. It gives up only when the process
 * ends, killed or at the end of its time to stop; the attempt is then found as one that never ended.
 *
 * @param settle records the outcome; must have the same effect when repeated
 * @param mayPass whether the next try may succeed after this error. Default: for each error of this
 *   package's family, into which failures of Redis are translated (src/redis/failure.ts)
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

/**
 * Waits for a promise, but no longer than `ms` milliseconds. What the promise does goes on by itself
 * afterwards; a rejection that comes after the timeout is dropped.
 *
 * @param otherwise the answer when the time is over first
 * @throws what the promise rejects with before the timeout
 */
export async function withTimeout<Result, Otherwise>(
  promise: Promise<Result>,
  ms: number,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Otherwise>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

import type { Logger } from 'pino';

/** Signals that ask a process to stop, with the exit code after an immediate stop. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Keeps a process running until it is asked to stop.
 *
 * - running: until SIGTERM or SIGINT.
 * - stopping, after the first signal: `stop` runs, for at most `timeoutMs`; then the process ends, with code
 *   0 after a clean stop and 1 if the time ran out (for example because Redis is gone).
 * - ended at once, after a second signal: other workers find the jobs in progress and run them again.
 *
 * SIGHUP has its default effect: closing a terminal ends a worker that was started in it.
 *
 * @returns the exit code, when `stop` has ended
 */
export function stopOnSignals(
  stop: () => Promise<void>,
  timeoutMs: number,
  logger: Logger,
): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    const onSignal = (signal: keyof typeof SIGNALS) => {
      if (stopping) {
        logger.warn({ event: 'stopped-at-once', signal });
        process.exit(SIGNALS[signal]);
      }
      stopping = true;
      const timer = setTimeout(() => {
        logger.error({ event: 'stop-timed-out', timeoutMs });
        process.exit(1);
      }, timeoutMs);
      stop().then(
        () => {
          clearTimeout(timer);
          resolve(0);
        },
        () => resolve(1),
      );
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

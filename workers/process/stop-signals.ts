import type { Logger } from 'pino';

/** Signals that ask a process to stop, with the exit code of one that did not stop in order. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Keeps a process until it is asked to stop.
 *
 * - running: until SIGTERM or SIGINT.
 * - stopping, after the first signal: `stop` runs, for `timeoutMs` at most; then the process ends,
 *   with code 0 if it stopped in order and 1 if the time ran out (Redis that is gone, for one).
 * - ended at once, after a second signal: what was in flight is found and run again by the others.
 *
 * SIGHUP is left alone: a terminal that closes ends a worker that was started in it.
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

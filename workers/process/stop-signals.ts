import type { Logger } from 'pino';
import { describeFailure } from '../../src/contracts/errors.ts';

/** Signals that ask a process to stop, with the exit code after an immediate stop. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/**
 * Signals within this time of the first are the same request, in milliseconds. Ctrl-C, systemd and `tini -g` signal a
 * whole process group, whose parent hands its own signal on: a process gets two at nearly the same time.
 */
const SAME_REQUEST_MS = 1_000;

/**
 * Keeps a process running until it is asked to stop.
 *
 * - running: until SIGTERM, SIGINT or SIGHUP (a closed terminal).
 * - stopping, after the first request: `stop` runs, for at most `timeoutMs`; then the process ends, with
 *   code 0 after a clean stop and 1 if the time ran out (for example because Redis is gone).
 * - ended at once, after a signal more than {@link SAME_REQUEST_MS} later: other workers find the jobs in
 *   progress and run them again.
 * @returns the exit code, when `stop` has ended
 */
export function stopOnSignals(
  stop: () => Promise<void>,
  timeoutMs: number,
  logger: Logger,
): Promise<number> {
  return new Promise((resolve) => {
    let requestedAt: number | undefined;
    const onSignal = (signal: keyof typeof SIGNALS) => {
      if (requestedAt !== undefined) {
        if (performance.now() - requestedAt < SAME_REQUEST_MS) return;
        logger.warn({ event: 'stopped-at-once', signal });
        process.exit(SIGNALS[signal]);
      }
      requestedAt = performance.now();
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
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
  });
}

/** Exit code of an error that nothing caught, as Node.js has it. */
const UNCAUGHT = 1;

/**
 * Ends this process at an error that nothing caught, and writes its kind and its place to standard error. Node.js
 * would write its message and all its fields: an error of the Redis client has the command, whose arguments contain
 * phone numbers and values. For programs only: an application that embeds a worker decides itself.
 */
export function endOnUncaughtErrors(): void {
  process.on('uncaughtException', (error: unknown) => {
    process.stderr.write(`${[describeFailure(error), ...placesOf(error)].join('\n')}\n`);
    process.exit(UNCAUGHT);
  });
}

function placesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const { stack = '', message } = error;
  const calls = stack.slice(stack.indexOf(message) + message.length);
  return calls.split('\n').filter((line) => /^ {4}at /.test(line));
}

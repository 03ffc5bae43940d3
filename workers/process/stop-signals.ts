import type { Logger } from 'pino';
import { describeFailure } from '../../src/contracts/errors.ts';

/** Signals that ask a process to stop, with the exit code after an immediate stop. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/**
 * Requests within this time of the first are the same request, in milliseconds. Ctrl-C, systemd and
 * `tini -g` signal a whole process group, and a process may get the signal and the message of its
 * supervisor, or SIGTERM and SIGINT, at nearly the same time.
 */
const SAME_REQUEST_MS = 1_000;

/** The message by which a supervisor asks its processes to stop. */
export const STOP_MESSAGE = 'stop';

/**
 * Keeps a process running until it is asked to stop.
 *
 * - running: until SIGTERM, SIGINT, SIGHUP (a closed terminal) or the {@link STOP_MESSAGE} of a supervisor, or until that supervisor has ended.
 * - stopping, after the first request: `stop` runs, for at most `timeoutMs`; then the process ends, with
 *   code 0 after a clean stop and 1 if the time ran out (for example because Redis is gone).
 * - ended at once, after a signal more than {@link SAME_REQUEST_MS} later: other workers find the jobs in
 *   progress and run them again.
 * @param supervised whether this process is one of a supervisor's. Default: false
 * @returns the exit code, when `stop` has ended
 */
export function stopOnSignals(
  stop: () => Promise<void>,
  timeoutMs: number,
  logger: Logger,
  supervised = false,
): Promise<number> {
  return new Promise((resolve) => {
    let requestedAt: number | undefined;
    const request = () => {
      if (requestedAt !== undefined) return;
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
    const onSignal = (signal: keyof typeof SIGNALS) => {
      if (requestedAt !== undefined && performance.now() - requestedAt >= SAME_REQUEST_MS) {
        logger.warn({ event: 'stopped-at-once', signal });
        process.exit(SIGNALS[signal]);
      }
      request();
    };
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
    process.on('message', (message) => {
      if (message === STOP_MESSAGE) request();
    });
    if (!supervised || process.send === undefined) return;
    // Without it nothing would stop this process, and the next version would run beside it.
    const onSupervisorEnd = () => {
      if (requestedAt === undefined) logger.warn({ event: 'supervisor-ended' });
      request();
    };
    // It may have ended while this process started.
    if (process.connected) process.once('disconnect', onSupervisorEnd);
    else onSupervisorEnd();
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

import { pino, type Logger } from 'pino';
import { CENSORED, redacted, SECRET_NAMES } from './redaction.ts';

/**
 * The logger of a process: one JSON object a line, on standard output unless said otherwise.
 *
 * Every logged field is chosen on purpose (workers/send/attempt-log.ts); the redaction is a second line of
 * defence.
 *
 * @param destination 1 for standard output, 2 for standard error
 */
export function createLogger(level: string, destination: 1 | 2 = 1): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redacted },
      // For the bindings of child loggers: the formatter does not get them.
      redact: { paths: [...SECRET_NAMES], censor: CENSORED },
    },
    pino.destination({ dest: destination, sync: false }),
  );
}

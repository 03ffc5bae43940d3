import { pino, type Logger } from 'pino';
import { LineGatherer } from './line-gatherer.ts';
import { CENSORED, redacted, SECRET_NAMES } from './redaction.ts';

/**
 * The logger of a process: one JSON object a line, on standard output unless said otherwise.
 *
 * What is logged is chosen fact by fact (workers/send/attempt-log.ts); the redaction below is the second
 * net for a fact that should not have been there.
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
      // What a child logger is bound to, the formatter does not see.
      redact: { paths: [...SECRET_NAMES], censor: CENSORED },
    },
    new LineGatherer(pino.destination({ dest: destination, sync: false })),
  );
}

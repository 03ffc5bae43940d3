import { pino, type Logger } from 'pino';
import { redact } from './redact.ts';

/**
 * The logger of a process: one JSON object a line, on standard output unless said otherwise.
 *
 * What is logged is chosen fact by fact (workers/attempt-log.ts); the redaction below is the second
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
      formatters: { level: (label) => ({ level: label }), log: redact },
    },
    pino.destination({ dest: destination, sync: false }),
  );
}

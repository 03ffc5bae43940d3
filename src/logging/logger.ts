import { isatty } from 'node:tty';
import { pino, type DestinationStream, type Logger } from 'pino';
import { CENSORED, redacted, SECRET_NAMES } from './redaction.ts';
import { textLine } from './text-line.ts';

/** How log lines are written: `auto` is text on a terminal and JSON elsewhere. */
export type LogFormat = 'auto' | 'json' | 'text';

/**
 * The logger of a process: one line for each event, on standard output unless said otherwise.
 *
 * Every logged field is chosen on purpose (workers/send/attempt-log.ts); the redaction is a second line of
 * defence.
 *
 * @param destination 1 for standard output, 2 for standard error
 */
export function createLogger(
  { logLevel: level, logFormat }: { readonly logLevel: string; readonly logFormat: LogFormat },
  destination: 1 | 2 = 1,
): Logger {
  const output = pino.destination({ dest: destination, sync: false });
  const isText = logFormat === 'text' || (logFormat === 'auto' && isatty(destination));
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redacted },
      // For the bindings of child loggers: the formatter does not get them.
      redact: { paths: [...SECRET_NAMES], censor: CENSORED },
    },
    isText ? textOutput(output) : output,
  );
}

function textOutput(output: ReturnType<typeof pino.destination>): DestinationStream {
  const text = {
    write: (line: string) => output.write(textLine(line)),
    flush: (done?: (error?: Error) => void) => output.flush(done),
  };
  return text;
}

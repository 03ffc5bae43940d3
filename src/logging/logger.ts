import { pino, type DestinationStream, type Logger } from 'pino';
import { NoticeQueueError } from '../contracts/errors.ts';
import { terminalText } from '../format/format.ts';
import { redisErrorFields } from '../redis/failure.ts';

const WRITE_AFTER_MS = 50;
const WRITE_AT_LENGTH = 8_192;
/** What is kept while lines cannot be written, in characters; further lines are lost. */
const MAX_UNWRITTEN = 67_108_864;
const WARN = pino.levels.values['warn'] ?? 0;

/**
 * The logger of a process: one line of JSON for each event, on standard output unless said otherwise.
 *
 * Every logged field is chosen on purpose (workers/send/attempt-log.ts); the redaction is a second line of
 * defence.
 *
 * @param destination 1 for standard output, 2 for standard error
 */
export function createLogger(
  { logLevel: level }: { readonly logLevel: string },
  destination: 1 | 2 = 1,
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }), log: redacted },
      // For the bindings of child loggers: the formatter does not get them.
      redact: { paths: [...SECRET_NAMES], censor: CENSORED },
    },
    bufferedOutput(destination),
  );
}

let [lastMs, lastText] = [0, ''];

/** The time as pino's `isoTime` writes it; made once per millisecond, which a busy worker's lines share. */
function isoTime(): string {
  const now = Date.now();
  if (now !== lastMs) [lastMs, lastText] = [now, `,"time":"${new Date(now).toISOString()}"`];
  return lastText;
}

/** How long the end of a process waits until its last lines are written. */
const LAST_LINES_MS = 5_000;

/**
 * To be called last. A reader of the log that does not read blocks the write, and with it any orderly end of the process:
 * then it is killed.
 */
export async function writeLastLines(logger: Logger): Promise<void> {
  const timer = setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINES_MS);
  await new Promise<void>((resolve) => {
    logger.flush(() => resolve());
  });
  clearTimeout(timer);
}

/**
 * Writes lines together: a write for each costs a tenth of a send. A line of level `warn` or above is written at
 * once with all before it, the others at the latest after {@link WRITE_AFTER_MS}, or when the process ends; so
 * only one that is killed loses lines, and none that names what was possibly sent.
 *
 * Where lines cannot be written, as on a full disk, the process goes on without them, and writes what it has kept
 * when that is possible again.
 */
function bufferedOutput(fd: 1 | 2): DestinationStream {
  const output = pino.destination({
    dest: fd,
    sync: false,
    minLength: WRITE_AT_LENGTH,
    maxLength: MAX_UNWRITTEN,
  });
  let isFailing = false;
  output.on('error', () => (isFailing = true));
  output.on('write', () => (isFailing = false));
  // Called when the process ends; it would repeat a write that fails for ever.
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    if (!isFailing) flushSync();
  };
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  const flush = () => {
    timer = undefined;
    isDue = true;
    output.flush();
  };
  // A flush has no effect while an earlier write is under way: what came meanwhile would wait for the next line.
  output.on('drain', () => {
    if (!isDue) return;
    isDue = false;
    output.flush();
  });
  const buffered = {
    // Makes pino set `lastLevel` before each line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write: (line: string) => {
      output.write(jsonLine(line));
      if (buffered.lastLevel >= WARN) flush();
      else timer ??= setTimeout(flush, WRITE_AFTER_MS).unref();
    },
    flush: (done?: (error?: Error) => void) => output.flush(done),
  };
  return buffered;
}

/** Fields that could contain a secret or a phone number. */
const SECRET_NAMES = ['authorization', 'accessKey', 'secretKey', 'contact'] as const;
const CENSORED = '[redacted]';

const SECRET: ReadonlySet<string> = new Set(SECRET_NAMES);

/** A log line has no more levels that may contain one: a contact in a list in a notice. */
const LEVELS = 4;

/**
 * A log line with these fields replaced.
 *
 * Not by pino's wildcard paths: they cost three times as much as the rest of the line. A line without such
 * a field (which is every line) is returned as it is.
 */
export function redacted<Line extends object>(line: Line, levels = LEVELS): Line {
  let copy: Line | undefined;
  for (const [name, value] of Object.entries(line) as [string, unknown][]) {
    let shown = value;
    if (SECRET.has(name)) shown = value === undefined ? value : CENSORED;
    else if (typeof value === 'object' && value !== null && levels > 1) {
      shown = redacted(value, levels - 1);
    }
    if (shown === value) continue;
    copy ??= (Array.isArray(line) ? [...(line as unknown[])] : { ...line }) as Line;
    Reflect.set(copy, name, shown);
  }
  return copy ?? line;
}

/**
 * A line of the log as JSON, safe for a terminal that shows it. Nearly all lines have ASCII only, which costs one look:
 * JSON escapes the rest of what a terminal obeys.
 */
export function jsonLine(json: string): string {
  const isPlain = Buffer.byteLength(json) === json.length && !json.includes('\u007f');
  return isPlain ? json : terminalText(json);
}

/**
 * Logs errors of the Redis connection at most once a second per code: a client without Redis emits many.
 */
export function throttledErrorLog(
  log: Logger,
  onError: (code: string) => void,
): (error: Error) => void {
  let lastAt = -Infinity;
  let lastCode = '';
  return (error) => {
    const fields = redisErrorFields(error);
    const { code } = fields;
    const now = performance.now();
    onError(code);
    if (code === lastCode && now - lastAt < 1_000) return;
    lastAt = now;
    lastCode = code;
    const reason = error instanceof NoticeQueueError ? { reason: error.message } : {};
    log.warn({ event: 'redis-trouble', ...fields, ...reason });
  };
}

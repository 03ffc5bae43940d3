import { setTimeout } from 'node:timers/promises';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { terminalLine, terminalText } from '../../format/terminal-text.ts';

/** One refresh of a watched command. */
export interface WatchSnapshot {
  /** Text output. */
  readonly lines: readonly string[];
  /** JSON output: fields of the object of this refresh. */
  readonly json: object;
}

/** The terminal, or another output. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** How a command is watched. */
export interface WatchOptions {
  readonly title: string;
  readonly everyMs: number;
  readonly json: boolean;
  /** Ends watching. */
  readonly signal: AbortSignal;
  readonly screen: Screen;
  /** Writes text; resolves to false when the reader has closed the stream. */
  readonly write: (text: string) => Promise<boolean>;
}

/** Switch to the alternate screen of the terminal without a cursor, and back. */
const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const ERASE_LINE = '\u001B[K';
const ERASE_BELOW = '\u001B[J';

/**
 * Refreshes a view until `signal` is aborted: in place on a terminal, elsewhere as one block of lines
 * per refresh, with `json` as one object per line. While Redis is unavailable it shows the error and the
 * last view, and keeps trying.
 *
 * @returns whether Redis answered the last refresh
 * @throws what `read` throws, unless Redis is unavailable
 */
export async function watch(
  read: () => Promise<WatchSnapshot>,
  { title, everyMs, json, signal, screen, write }: WatchOptions,
): Promise<boolean> {
  const inPlace = screen.isTTY === true && !json;
  const ended = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  let answered = true;
  let last: WatchSnapshot | undefined;
  let unavailableSince: Date | undefined;
  let shown: readonly string[] = [];
  if (inPlace) await write(ENTER);
  try {
    while (!signal.aborted) {
      const startedAt = performance.now();
      const at = new Date();
      // Ctrl-C ends it at once, also while a frozen Redis does not answer.
      const reading = readOrFailure(read);
      reading.catch(() => {});
      const seen = await Promise.race([reading, ended]);
      if (seen === undefined) break;
      answered = 'lines' in seen;
      if ('lines' in seen) {
        last = seen;
        unavailableSince = undefined;
        shown = seen.lines.map(terminalLine);
      } else {
        unavailableSince ??= at;
        shown = failureLines(seen, unavailableSince, last?.lines ?? []).map(terminalLine);
      }
      const text = json
        ? terminalText(
            `${JSON.stringify({ at: at.toISOString(), ...('lines' in seen ? seen.json : { error: seen }) })}\n`,
          )
        : drawn([`${title}, ${clock(at)}`, '', ...shown], inPlace ? screen : undefined);
      if (!(await write(text))) break;
      const restMs = Math.max(0, everyMs - (performance.now() - startedAt));
      await setTimeout(restMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    if (inPlace) await write(`${LEAVE}${shown.map((line) => `${line}\n`).join('')}`);
  }
  return answered;
}

/** Why Redis is unavailable. */
interface ReadFailure {
  readonly code: string;
  readonly message: string;
}

async function readOrFailure(
  read: () => Promise<WatchSnapshot>,
): Promise<WatchSnapshot | ReadFailure> {
  try {
    return await read();
  } catch (error) {
    const unavailable =
      error instanceof NoticeQueueError &&
      (error.code === 'QUEUE_UNAVAILABLE' || error.code === 'QUEUE_REFUSED');
    if (!unavailable) throw error;
    return { code: error.code, message: error.message };
  }
}

function failureLines(
  { code, message }: ReadFailure,
  since: Date,
  last: readonly string[],
): string[] {
  const seen = last.length === 0 ? [] : ['', 'Last known state:', ...last];
  return [`Redis unavailable since ${clock(since)}: ${code}: ${message}`, ...seen];
}

/**
 * The text of one refresh: for a terminal over the previous one, cut to its size because a line that
 * wraps could not be overwritten; elsewhere a block of lines and an empty line.
 */
export function drawn(lines: readonly string[], screen: Screen | undefined): string {
  if (screen === undefined) return `${lines.join('\n')}\n\n`;
  // A terminal of unknown size has undefined, or 0.
  const [columns, rows] = [screen.columns || 80, screen.rows || 24];
  const fitting = lines
    .slice(0, Math.max(1, rows - 1))
    .map((line) => `${Array.from(line).slice(0, columns).join('')}${ERASE_LINE}\n`);
  return `${HOME}${fitting.join('')}${ERASE_BELOW}`;
}

/** The local time of day. */
function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}

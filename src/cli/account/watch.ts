import { setTimeout } from 'node:timers/promises';
import { NoticeQueueError } from '../../contracts/errors.ts';

/** What a watched command shows at one moment. */
export interface WatchSnapshot {
  /** For a person. */
  readonly lines: readonly string[];
  /** With `--json`: fields of one line's object. */
  readonly json: object;
}

/** Where it is shown. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** How it is shown. */
export interface WatchOptions {
  readonly title: string;
  readonly everyMs: number;
  readonly json: boolean;
  /** Ends it: Ctrl-C. */
  readonly signal: AbortSignal;
  readonly screen: Screen;
  /** Takes the text; false when nobody reads it any more. */
  readonly write: (text: string) => Promise<boolean>;
}

/** The terminal's second screen, without a cursor, and back: what stood before is there again. */
const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const ERASE_LINE = '\u001B[K';
const ERASE_BELOW = '\u001B[J';

/**
 * Looks again and again until it is ended: redraws in place on a terminal, writes a block a look
 * elsewhere, and with `json` one object a line. While Redis is away it says so, shows what it saw
 * last, and goes on trying.
 *
 * @returns whether the last look was answered
 * @throws what `look` throws, unless it is Redis that did not serve
 */
export async function watch(
  look: () => Promise<WatchSnapshot>,
  { title, everyMs, json, signal, screen, write }: WatchOptions,
): Promise<boolean> {
  const inPlace = screen.isTTY === true && !json;
  const ended = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  let answered = true;
  let last: WatchSnapshot | undefined;
  let awaySince: Date | undefined;
  let shown: readonly string[] = [];
  if (inPlace) await write(ENTER);
  try {
    while (!signal.aborted) {
      const begun = performance.now();
      const at = new Date();
      // Ctrl-C ends it at once, also while a Redis that is frozen lets it wait.
      const looking = sightOf(look);
      looking.catch(() => {});
      const seen = await Promise.race([looking, ended]);
      if (seen === undefined) break;
      answered = 'lines' in seen;
      if ('lines' in seen) {
        last = seen;
        awaySince = undefined;
        shown = seen.lines;
      } else {
        awaySince ??= at;
        shown = awayLines(seen, awaySince, last?.lines ?? []);
      }
      const text = json
        ? `${JSON.stringify({ at: at.toISOString(), ...('lines' in seen ? seen.json : { error: seen }) })}\n`
        : drawn([`${title}, ${clock(at)}`, '', ...shown], inPlace ? screen : undefined);
      if (!(await write(text))) break;
      const restMs = Math.max(0, everyMs - (performance.now() - begun));
      await setTimeout(restMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    if (inPlace) await write(`${LEAVE}${shown.map((line) => `${line}\n`).join('')}`);
  }
  return answered;
}

/** Why Redis did not serve. */
interface Away {
  readonly code: string;
  readonly message: string;
}

async function sightOf(look: () => Promise<WatchSnapshot>): Promise<WatchSnapshot | Away> {
  try {
    return await look();
  } catch (error) {
    const away =
      error instanceof NoticeQueueError &&
      (error.code === 'QUEUE_UNAVAILABLE' || error.code === 'QUEUE_REFUSED');
    if (!away) throw error;
    return { code: error.code, message: error.message };
  }
}

function awayLines({ code, message }: Away, since: Date, last: readonly string[]): string[] {
  const seen = last.length === 0 ? [] : ['', 'seen last:', ...last];
  return [`Redis does not serve since ${clock(since)}: ${code}: ${message}`, ...seen];
}

/**
 * One look as text: for a terminal over what stands there, cut to its size, for a line that wraps
 * could not be written over; elsewhere a block and an empty line.
 */
export function drawn(lines: readonly string[], screen: Screen | undefined): string {
  if (screen === undefined) return `${lines.join('\n')}\n\n`;
  // A terminal that does not know its size says undefined, or 0.
  const [columns, rows] = [screen.columns || 80, screen.rows || 24];
  const fitting = lines
    .slice(0, Math.max(1, rows - 1))
    .map((line) => `${Array.from(line).slice(0, columns).join('')}${ERASE_LINE}\n`);
  return `${HOME}${fitting.join('')}${ERASE_BELOW}`;
}

/** The time of day, as the machine's clock shows it. */
function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}

/**
 * How numbers are written for people: the CLI, the pages, alerts and messages use these functions, so
 * that one value reads the same everywhere.
 */

/** Locale of numbers: a comma between thousands, a point before decimals. */
const LOCALE = 'en';

const DURATION_UNITS: readonly (readonly [ms: number, name: string, from: number])[] = [
  [86_400_000, 'd', 172_800_000],
  [3_600_000, 'h', 7_200_000],
  [60_000, 'min', 120_000],
  [1_000, 's', 1_000],
];

const SIZE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count: `1,234,567`. Fractions are rounded. */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString(LOCALE);
}

/**
 * A count with its noun: `1 contact`, `1,234 contacts`.
 *
 * @param plural for nouns that do not end in `s`. Default: the noun and an `s`
 */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : plural}`;
}

/** A rate per second, without the unit: `below 0.01`, `0.02`, `0.4`, `9.5`, `1,200`. */
export function formatRate(perSecond: number): string {
  if (perSecond <= 0 || perSecond >= 9.95) return formatCount(perSecond);
  if (perSecond < 0.005) return 'below 0.01';
  return perSecond.toFixed(perSecond < 0.095 ? 2 : 1);
}

/**
 * A duration in the largest unit that fits at least twice, so that `90 s` is not rounded to `2 min`:
 * `340 ms`, `12 s`, `90 s`, `4 min`, `3 h`, `2 d`.
 */
export function formatDuration(ms: number): string {
  const size = Math.abs(ms);
  const unit = DURATION_UNITS.find(([, , from]) => size >= from);
  return unit === undefined ? `${Math.round(ms)} ms` : `${Math.round(ms / unit[0])} ${unit[1]}`;
}

/** A duration in its two largest units: `3 h 40 min`. */
export function roughDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return formatDuration(ms);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
}

/** A size in memory or on disk: `512 B`, `1.5 MiB`, `24 MiB`. */
export function formatSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1_024 && unit < SIZE_UNITS.length - 1) {
    size /= 1_024;
    unit++;
  }
  const digits = unit > 0 && size < 10 ? 1 : 0;
  return `${size.toFixed(digits)} ${SIZE_UNITS[unit]}`;
}

/** A text of any content as one word that a shell runs nothing of, for commands that people copy. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** What a terminal obeys, or shows as if it were not there: controls, marks of direction, halves of pairs. */
const UNSAFE = /(?![\t\n])[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * A text that is safe for a terminal: what a terminal would obey is shown as the escape that JSON has for it,
 * so that JSON stays the same value. Line breaks and tabs are kept.
 */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, escapeOf);
}

/** The same for one line: a line break in it is shown, too. */
export function terminalLine(text: string): string {
  return terminalText(text).replace(/\n/g, escapeOf);
}

const escapeOf = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

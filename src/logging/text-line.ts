import { terminalLine, terminalText } from '../format/terminal-text.ts';

/** A value that needs no quotes. */
const PLAIN = /^[\w.:/@+-]+$/;

/**
 * A line of the log for people: time of day, level, event or message, and the fields as `name=value`. Safe
 * for a terminal.
 *
 * @param json the line as pino writes it
 */
export function textLine(json: string): string {
  const { level, time, event, msg, ...fields } = JSON.parse(json) as Readonly<
    Record<string, unknown>
  >;
  const at = /T(\d\d:\d\d:\d\d\.\d{3})/.exec(String(time))?.[1] ?? '';
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${shownValue(value)}`);
  const words = [at, String(level).padEnd(5), event, msg, ...shown];
  const text = words.filter((word) => word !== undefined && word !== '').join(' ');
  return `${terminalLine(text)}\n`;
}

/**
 * A line of the log as JSON, safe for a terminal that shows it. Nearly all lines have ASCII only, which costs one look:
 * JSON escapes the rest of what a terminal obeys.
 *
 * @param json the line as pino writes it
 */
export function jsonLine(json: string): string {
  const isPlain = Buffer.byteLength(json) === json.length && !json.includes('\u007f');
  return isPlain ? json : terminalText(json);
}

function shownValue(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value);
}

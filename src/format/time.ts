import { formatDuration } from './format.ts';

/** What {@link readTime} expects, for descriptions and error messages. */
export const TIME_FORMAT =
  'a time such as 2026-01-31, 2026-01-31T09:30 or 2026-01-31T09:30Z (UTC without a zone), or milliseconds since the epoch';

/** The same, or how long ago. */
export const MOMENT_FORMAT = `${TIME_FORMAT}; or how long ago, such as 2h`;

/** A text with {@link TIME_FORMAT} in it, for commands. */
export const inSystemWords = (text: string): string =>
  text.replace('UTC without a zone', "in the system's zone without one");

const ISO = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Reads a time: an ISO 8601 date or time, or milliseconds since the epoch.
 *
 * @param inZone where it has no zone: empty for that of the system. Default: UTC
 * @returns milliseconds since the epoch; undefined for other texts, and for days that do not exist
 */
export function readTime(text: string, inZone = 'Z'): number | undefined {
  // Fewer digits are seconds, or a day without hyphens.
  if (/^\d{13,15}$/.test(text)) return Number(text);
  const [, day, clock = '00:00', zone = inZone] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  // A day such as February 30 would be read as one in March.
  const midnight = new Date(`${day}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  const at = Date.parse(`${day}T${clock}${zone}`);
  return exists && !Number.isNaN(at) && at >= 0 ? at : undefined;
}

/** The one notation of durations, in variables and on the command line: `250ms`, `30s`, `5m`, `24h`, `7d`. */
const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

export type DurationUnit = keyof typeof UNITS;

/** The notation in words, for messages. */
export const DURATION_EXAMPLES = '250ms, 30s, 5m, 24h or 7d';

/**
 * Parses a duration; a space before the unit is allowed.
 *
 * @param bare unit of a number alone. Default: a unit is required
 * @returns whole milliseconds; undefined for any other text
 */
export function parseDuration(text: string, bare?: DurationUnit): number | undefined {
  const [, digits = '', unit = bare] = /^(\d{1,16})(?: ?(ms|s|m|h|d))?$/.exec(text) ?? [];
  const ms = unit === undefined ? NaN : Number(digits) * UNITS[unit as DurationUnit];
  return digits !== '' && Number.isSafeInteger(ms) ? ms : undefined;
}

/** A duration in that notation, exactly, in the largest unit: `1d`, `90s`, `1500ms`, `0s`. */
export function writeDuration(ms: number): string {
  if (ms === 0) return '0s';
  const units = Object.entries(UNITS);
  const [unit, size] = units.find(([, length]) => ms % length === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** Puts the time between now and then into words. Default: `5 min ago`, `in 3 h`. */
export type SayTime = (span: string) => string;

/**
 * A time relative to now, with the time itself: one is never shown without the other. `day` and `time` are in UTC, and the
 * day of now is empty. Pages show it with `moment` (elements.ts), commands with {@link writeTime}.
 */
export function relativeTime(at: number, now: number, say?: SayTime) {
  const exact = new Date(at).toISOString();
  const [day = '', time = ''] = exact.split('T');
  const isToday = exact.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  const ahead = at > now;
  const span = formatDuration(Math.abs(at - now));
  const words = say?.(span) ?? (ahead ? `in ${span}` : `${span} ago`);
  return { words, day: isToday ? '' : `${day} `, time: time.slice(0, 8), exact };
}

/** A time relative to now in one line of text, in the zone of the system: `5 min ago (09:30:00 UTC)`. */
export function writeTime(at: number, now: number, say?: SayTime): string {
  const [day, ...rest] = writeInstant(at).split(' ');
  const isToday = writeInstant(now).startsWith(`${day} `);
  const { words } = relativeTime(at, now, say);
  return `${words} (${[...(isToday ? [] : [day]), ...rest].join(' ')})`;
}

/** A time in the zone of the system (TZ): `2026-01-31 09:30:00 UTC`. */
export function writeInstant(at: number): string {
  const parts = new Map(ZONED.formatToParts(at).map(({ type, value }) => [type, value]));
  const of = (...types: Intl.DateTimeFormatPartTypes[]) => types.map((type) => parts.get(type));
  const [day, time] = [of('year', 'month', 'day'), of('hour', 'minute', 'second')];
  return `${day.join('-')} ${time.join(':')} ${parts.get('timeZoneName')}`;
}

const TWO = '2-digit';
const ZONED = new Intl.DateTimeFormat('en-GB', {
  year: 'numeric',
  month: TWO,
  day: TWO,
  hour: TWO,
  minute: TWO,
  second: TWO,
  timeZoneName: 'short',
});

/** The one notation of durations, in variables and on the command line: `250ms`, `30s`, `5m`, `24h`, `7d`. */
const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** Unit of a duration. */
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

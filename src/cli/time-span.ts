import { InvalidArgumentError } from 'commander';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Reads a time span such as `90s`, `15m`, `2h` or `3d`, in milliseconds, for an option. */
export function timeSpan(text: string): number {
  const [, digits = '', letter = ''] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  const unit = UNITS.get(letter);
  if (unit === undefined) {
    throw new InvalidArgumentError('Expected a time span such as 90s, 15m, 2h or 3d.');
  }
  return Number(digits) * unit;
}

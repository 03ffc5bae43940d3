import { UsageError } from './command-context.ts';
import { InvalidArgumentError, Option } from 'commander';
import { BATCH_ID } from '../contracts/batch-id.ts';
import {
  DURATION_EXAMPLES,
  parseDuration,
  writeDuration,
  type DurationUnit,
} from '../format/time.ts';

/** Parser of a whole number; both bounds are allowed. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^[0-9]+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** The flag of every command that changes something, or shows phone numbers. */
export function whyOption(maxLength = 200): Option {
  return new Option('--why <text>', 'reason, recorded in the audit stream').argParser((text) => {
    const trimmed = text.trim();
    if (trimmed === '' || trimmed.length > maxLength) {
      throw new InvalidArgumentError(`Expected 1 to ${maxLength} characters.`);
    }
    return trimmed;
  });
}

/** Collects the values of an option that can be repeated. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/**
 * Parser of a duration into milliseconds; both bounds are allowed.
 *
 * @param bare unit of a number alone. Default: a unit is required
 */
export function duration(min: number, max: number, bare?: DurationUnit): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text, bare);
    if (ms !== undefined && ms >= min && ms <= max) return ms;
    const bounds = `from ${writeDuration(min)} to ${writeDuration(max)}`;
    throw new InvalidArgumentError(`Expected a duration ${bounds}, such as ${DURATION_EXAMPLES}.`);
  };
}

/** Parses the id of a batch. */
export function batchId(text: string): string {
  if (!BATCH_ID.test(text)) {
    throw new InvalidArgumentError('Expected 1 to 64 letters, digits, hyphens or underscores.');
  }
  return text;
}

/** Parses template variables given as `name=value`. */
export function templateVariables(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError('--var: expected name=value, such as var1=Kim');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

import { InvalidArgumentError, Option, type Command } from 'commander';
import { BATCH_ID } from '../contracts/batch-id.ts';
import { InputError } from '../contracts/errors.ts';
import {
  DURATION_EXAMPLES,
  parseDuration,
  inSystemWords,
  readTime,
  TIME_FORMAT,
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

/** A time without a zone is one of the system, as commands show it; the HTTP API reads it as UTC. */
export const inSystemZone = (text: string): number | undefined =>
  readTime(text.replace(' ', 'T'), '');

export function time(text: string): number {
  const at = inSystemZone(text);
  if (at === undefined) throw new InvalidArgumentError(`Expected ${inSystemWords(TIME_FORMAT)}.`);
  return at;
}

export function batchId(text: string): string {
  if (!BATCH_ID.test(text)) {
    throw new InvalidArgumentError('Expected 1 to 64 letters, digits, hyphens or underscores.');
  }
  return text;
}

/** An option whose value has the name of a field of the library, not that of its flag. */
export function optionFor<Value = string>(
  field: string,
  flags: string,
  description: string,
  read?: (text: string, before: Value) => Value,
): Option {
  const option = new Option(flags, description);
  if (read !== undefined) option.argParser(read);
  return Object.assign(option, { attributeName: () => field });
}

/** Where a problem may name an option. */
const OPTION = /"([a-z]\w*)"|\b[a-z]+[A-Z]\w*/g;

/**
 * An error about a notice and its options, with the names of flags.
 *
 * @param ofOptions whether only options come from flags
 */
export function inFlags({ options }: Command, error: unknown, ofOptions = false): unknown {
  if (!(error instanceof InputError) || error.code !== 'NOTICE_INVALID') return error;
  const flagOf = (name: string) =>
    options.find((one) => one.attributeName() === name)?.long ?? name;
  const issues = error.issues.map((issue) => {
    const name = issue.field.replace(/^options\./, '');
    if (ofOptions && name === issue.field) return issue;
    const problem = issue.problem.replaceAll(OPTION, (text, name?: string) => flagOf(name ?? text));
    return { field: flagOf(name), problem };
  });
  return new InputError(error.code, issues);
}

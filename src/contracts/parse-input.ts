import type { z } from 'zod';
import { InputError, type InputIssue } from './errors.ts';

/** Formats a path as in JavaScript: `contacts[3].contact`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

/** How programs name fields; what a caller put in the place of a name may be personal data. */
const NAME = /^(?!.*\p{Nd}{6})[\p{L}_$][\p{L}\p{N}_$-]{0,63}$/u;

/** A name for a message: as it is, if it looks like one. */
export const shownName = (name: string): string => (NAME.test(name) ? name : '(not shown)');

/** Converts one zod issue; each unknown key becomes an issue of its own. */
function toIssues(issue: z.core.$ZodIssue, prefix: string, root: string): InputIssue[] {
  const path = issue.path.map((part) => (typeof part === 'string' ? shownName(part) : part));
  const place = fieldPath([...(prefix === '' ? [] : [prefix]), ...path]);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: place === '' ? shownName(key) : `${place}.${shownName(key)}`,
      problem: 'unknown option',
    }));
  }
  return [{ field: place === '' ? root : place, problem: issue.message }];
}

/** The most issues that one error lists, so that an invalid list does not fill the log. */
const MAX_ISSUES = 20;

/**
 * Checks external input.
 *
 * @param prefix prefix of field names in errors, such as `notices[4]`
 * @param root name of the whole value in errors, if there is no prefix
 * @param found issues that are known already
 * @throws InputError that names every invalid field, with its first issue (a wrong type also violates the rules on length),
 *   without values: they may be personal data
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: 'CONFIG_INVALID' | 'NOTICE_INVALID' | 'REQUEST_INVALID',
  prefix = '',
  root = 'value',
  found: readonly InputIssue[] = [],
): z.output<Schema> {
  // It has no fields, so that it would be an object with all options left out.
  if (isPromise(value)) {
    const problem = 'expected a value, got a promise: await it';
    throw new InputError(code, [{ field: prefix || root, problem }]);
  }
  const result = schema.safeParse(value);
  if (result.success && found.length === 0) return result.data;
  const byField = new Map<string, InputIssue>();
  const parsed = (result.error?.issues ?? []).flatMap((issue) => toIssues(issue, prefix, root));
  for (const issue of [...found, ...parsed]) {
    if (!byField.has(issue.field)) byField.set(issue.field, issue);
  }
  const shown = [...byField.values()].slice(0, MAX_ISSUES);
  if (byField.size > MAX_ISSUES) {
    shown.push({ field: prefix || root, problem: `and ${byField.size - MAX_ISSUES} more` });
  }
  throw new InputError(code, shown);
}

function isPromise(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/** Deeper nesting is a mistake, or a circular reference. */
export const MAX_DEPTH = 32;

/** Control characters except tab and line breaks, and lone surrogates. */
const NOT_TEXT = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;

/**
 * Why a text is not sent: it contains a control character or half of a pair. One rule for single notices and
 * lists.
 */
export function whyNotText(text: string): string | undefined {
  const found = NOT_TEXT.exec(text);
  if (found === null) return undefined;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `expected text, got the control character U+${code} at character ${found.index + 1}; remove it`;
}

/** Why a field cannot be sent unchanged: its name is no text, or its value is not a JSON value ({@link whyNotJson}). */
export function whyNotField(name: string, value: unknown): string | undefined {
  // Nearly all: one look at each.
  if (typeof value === 'string' && !NOT_TEXT.test(name) && !NOT_TEXT.test(value)) return undefined;
  return whyNotText(name) ?? whyNotJson(value);
}

/**
 * Why a value is not a JSON value; undefined if it is one. `JSON.stringify` would change some values
 * (NaN, a Date, a Map, a function) and refuse others (a BigInt, a circular object), so the service would
 * not get what the caller passed. Undefined fields of an object are allowed: they are omitted.
 */
export function whyNotJson(value: unknown, depth = 0): string | undefined {
  switch (typeof value) {
    case 'string':
      return whyNotText(value);
    case 'boolean':
      return undefined;
    case 'number':
      return problemOfNumber(value);
    case 'object':
      return value === null ? undefined : problemOfObject(value, depth);
    default:
      return `expected a JSON value, got a value of type ${typeof value}`;
  }
}

/** Digits of a larger whole number may be lost already: JSON has no limit, and JavaScript has. */
function problemOfNumber(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'expected a finite number';
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  return `expected text, in quotes: a whole number beyond ${Number.MAX_SAFE_INTEGER} loses digits`;
}

function problemOfObject(value: object, depth: number): string | undefined {
  if (depth >= MAX_DEPTH) return `expected at most ${MAX_DEPTH} levels of nesting`;
  if (!Array.isArray(value) && !isPlain(value)) {
    return 'expected a JSON value, got an instance of a class';
  }
  const parts: unknown[] = Array.isArray(value)
    ? Array.from<unknown>(value)
    : Object.values(value).filter((part) => part !== undefined);
  const names = Array.isArray(value) ? [] : Object.keys(value);
  for (const part of [...names, ...parts]) {
    const problem = whyNotJson(part, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Whether it is a plain object, also one of another realm, such as that of a test runner. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * The size of a JSON value: about the number of characters of its text. Infinity if it is nested deeper
 * than `maxDepth`, so that functions which call themselves for each level, such as `JSON.stringify`, may be
 * called with any value of finite size.
 */
export function sizeOfJson(value: unknown, maxDepth = MAX_DEPTH): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 5;
  if (maxDepth <= 0) return Infinity;
  let size = 2;
  // Ends with the first part that is too deep: a value that contains itself twice would be walked for hours.
  if (Array.isArray(value)) {
    for (const part of value) {
      size += 1 + sizeOfJson(part, maxDepth - 1);
      if (size === Infinity) break;
    }
  } else {
    for (const [name, part] of Object.entries(value)) {
      size += name.length + 4 + sizeOfJson(part, maxDepth - 1);
      if (size === Infinity) break;
    }
  }
  return size;
}

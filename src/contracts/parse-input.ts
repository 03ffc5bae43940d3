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

/** Keeps the first issue of each field: a wrong type also violates the rules on length and format. */
function firstOfEachField(issues: readonly InputIssue[]): InputIssue[] {
  const byField = new Map<string, InputIssue>();
  for (const issue of issues) {
    if (!byField.has(issue.field)) byField.set(issue.field, issue);
  }
  return [...byField.values()];
}

/** The most issues that one error lists, so that an invalid list does not fill the log. */
export const MAX_ISSUES = 20;

/**
 * Checks external input.
 *
 * @param prefix prefix of field names in errors, such as `notices[4]`
 * @param root name of the whole value in errors, if there is no prefix
 * @throws InputError that names every invalid field, without values: they may be personal data
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: 'CONFIG_INVALID' | 'NOTICE_INVALID' | 'REQUEST_INVALID',
  prefix = '',
  root = 'value',
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = firstOfEachField(
    result.error.issues.flatMap((issue) => toIssues(issue, prefix, root)),
  );
  const shown = issues.slice(0, MAX_ISSUES);
  if (issues.length > MAX_ISSUES) {
    shown.push({ field: prefix || root, problem: `and ${issues.length - MAX_ISSUES} more` });
  }
  throw new InputError(code, shown);
}

import type { z } from 'zod';
import { InputError, type InputIssue } from './errors.ts';

/** Writes a path as a reader of JavaScript would: `contacts[3].contact`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

/** One zod issue in our words; unknown keys are named one by one. */
function toIssues(issue: z.core.$ZodIssue, prefix: string, root: string): InputIssue[] {
  const place = fieldPath([...(prefix === '' ? [] : [prefix]), ...issue.path]);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: place === '' ? key : `${place}.${key}`,
      problem: 'this option is not known',
    }));
  }
  return [{ field: place === '' ? root : place, problem: issue.message }];
}

/** A field of a wrong type breaks the rules on its length and form, too: the first says enough. */
function firstOfEachField(issues: readonly InputIssue[]): InputIssue[] {
  const byField = new Map<string, InputIssue>();
  for (const issue of issues) {
    if (!byField.has(issue.field)) byField.set(issue.field, issue);
  }
  return [...byField.values()];
}

/** At most this many places are named in one error, so that a bad list does not fill the log. */
export const MAX_ISSUES = 20;

/**
 * Checks a value that comes from outside.
 *
 * @param prefix what fields are named under, such as `notices[4]`; empty for fields by themselves
 * @param root name of the value as a whole where there is no prefix
 * @throws InputError with every field that is wrong, never with a value that may be personal
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

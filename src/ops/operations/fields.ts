import { z } from 'zod';
import { lookUpNumber } from '../../batch/source/check-number.ts';
import { BATCH_ID } from '../../contracts/batch-id.ts';
import { DURATION_EXAMPLES, MOMENT_FORMAT, parseDuration, readTime } from '../../format/time.ts';

/*
 * Fields of the input of operations. Texts of queries, forms and command lines are converted before below, so a
 * number is one here.
 */

const MAX_WHY = 200;

/** The reason of a manual action. */
export const why = z
  .string('expected a reason')
  .trim()
  .min(1, 'expected a reason')
  .max(MAX_WHY, `expected at most ${MAX_WHY} characters`)
  .describe('reason, for the audit stream');

export const template = z.string().min(1, 'expected a template code').max(200);

export const batchId = z
  .string()
  .regex(BATCH_ID, 'expected 1 to 64 letters, digits, hyphens or underscores')
  .describe('id of the batch');

export const code = z.string().min(1).max(64).optional().describe('only with this code');

const NO_MOMENT = `expected ${MOMENT_FORMAT}`;
const NO_DURATION = `expected a duration such as ${DURATION_EXAMPLES}, or milliseconds`;

/** Milliseconds, or a text: what `read` takes. */
const milliseconds = (
  takes: string,
  problem: string,
  read: (given: string | number) => number | undefined,
) =>
  z
    .union([z.int(problem).min(0, problem), z.string(problem)], problem)
    .transform((given, context) => {
      const ms = read(given);
      if (ms !== undefined) return ms;
      context.addIssue({ code: 'custom', message: problem });
      return z.NEVER;
    })
    .meta({ takes });

/** A point in time, since the epoch. Text is read as ISO 8601, or as a duration before now. */
const moment = milliseconds('time', NO_MOMENT, (given) => {
  const text = String(given);
  const agoMs = parseDuration(text);
  return agoMs === undefined ? readTime(text) : Math.max(0, Date.now() - agoMs);
});

/** Select by the time at which something happened. */
export const timesOf = (happened: string) => ({
  since: moment.optional().describe(`only ${happened} at this time or later: ${MOMENT_FORMAT}`),
  before: moment.optional().describe(`only ${happened} before this time`),
});

/** A duration. Text is read with its unit. */
export const duration = milliseconds('duration', NO_DURATION, (given) =>
  typeof given === 'number' ? given : parseDuration(given),
);

export function whole(min: number, max: number) {
  const message = `expected a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
}

export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, `expected ${words.join(', ')}`);
}

/** Most per second. A request is bounded in time, so its answer says when to repeat it. */
export const rate = whole(1, 1_000_000).optional();

/** Milliseconds by which so many since `startedAt` (performance.now) are ahead of a rate per second; 0 if none. */
export function msAhead(done: number, most: number, startedAt: number): number {
  return Math.max(0, (done / most) * 1_000 - (performance.now() - startedAt));
}

export const waitMs = z
  .int()
  .optional()
  .describe('with a rate: milliseconds to wait before the request is repeated, so that it holds');

/** That field, after so many. @param startedAt of the call, by performance.now */
export function waitAfter(done: number, most: number | undefined, startedAt: number) {
  return most === undefined ? {} : { waitMs: Math.ceil(msAhead(done, most, startedAt)) };
}

const MAX_WRITTEN = 100;

type Read = (
  text: string,
) => { readonly kind: 'number'; readonly number: string } | { kind: 'refused'; reason: string };

/** The digits of a phone number that `read` takes. The error for another one does not repeat it. */
export const phoneNumber = (read: Read, description: string) =>
  z
    .string('expected a phone number')
    .max(MAX_WRITTEN, `expected at most ${MAX_WRITTEN} characters`)
    .transform((text, context) => {
      const checked = read(text);
      if (checked.kind === 'number') return checked.number;
      context.addIssue({ code: 'custom', message: checked.reason });
      return z.NEVER;
    })
    .meta({ takes: 'phone number' })
    .describe(description);

export const number = phoneNumber(lookUpNumber, 'in the national format; separators are removed');

/** What a field is, as far as its text has to be converted. */
export type FieldKind = 'number' | 'boolean' | 'array' | 'text';

/** Converts texts of a form, a query or a command line to what the schema of their field takes; others stay as they are. */
export function fromTexts(texts: readonly string[], kind: FieldKind): unknown {
  const [text = ''] = texts;
  switch (kind) {
    case 'number':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (text === 'on' || text === 'true') return true;
      return text === 'false' ? false : text;
    case 'array':
      return texts;
    case 'text':
      return text;
  }
}

/** A field without what makes it optional or converts its value. */
export function innerField(field: unknown): unknown {
  let inner = field;
  for (;;) {
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return inner;
  }
}

/** What a field says of itself: what it `takes`, or the name of its `flag`. */
export function metaOf(schema: unknown, name: string): string | undefined {
  const found = schema instanceof z.ZodType ? schema.meta()?.[name] : undefined;
  if (typeof found === 'string') return found;
  return schema instanceof z.ZodOptional ? metaOf(schema.unwrap(), name) : undefined;
}

export function kindOf(field: unknown): FieldKind {
  const inner = innerField(field);
  // A text that is not a number stays text, so the other members of a union work, too.
  if (inner instanceof z.ZodUnion) {
    return inner.options.some((one) => kindOf(one) === 'number') ? 'number' : 'text';
  }
  const type = inner instanceof z.ZodType ? inner.def.type : 'string';
  return type === 'number' || type === 'boolean' || type === 'array' ? type : 'text';
}

/** The fields of an object schema, also of one behind a step before it. */
export function shapeOf(schema: unknown): Readonly<Record<string, z.ZodType>> {
  if (schema instanceof z.ZodPipe) return shapeOf(schema.def.out);
  return schema instanceof z.ZodObject ? schema.shape : {};
}

export function fromQuery(query: unknown, schema: z.ZodType): unknown {
  if (typeof query !== 'object' || query === null) return query;
  const shape = shapeOf(schema);
  return Object.fromEntries(
    Object.entries(query).map(([name, value]: [string, unknown]) => {
      const kind = kindOf(shape[name]);
      if (typeof value === 'string') return [name, fromTexts([value], kind)];
      return [name, value];
    }),
  );
}

/**
 * Converts the fields of an HTML form to a JSON body. Empty fields are left out, and so are those that start with `_`,
 * which are for the server itself.
 */
export function fromForm(fields: URLSearchParams, schema: z.ZodType): Record<string, unknown> {
  const shape = shapeOf(schema);
  const found = new Map<string, string[]>();
  // In one pass: `getAll` for each name would take seconds for a form of thousands of names.
  for (const [name, text] of fields) {
    if (name.startsWith('_') || text.trim() === '') continue;
    const texts = found.get(name);
    if (texts === undefined) found.set(name, [text]);
    else texts.push(text);
  }
  const body = [...found].map(([name, texts]) => [name, fromTexts(texts, kindOf(shape[name]))]);
  return Object.fromEntries(body) as Record<string, unknown>;
}

import * as z from 'zod';

/*
 * Checks of options, apps and faults. No message contains a value: some are secrets.
 */

export const text = () => {
  const message = 'expected a text that is not empty';
  return z.string(message).min(1, message);
};

export const integer = (min: number, max: number) => {
  const message = `expected ${min} to ${max}`;
  return z.int('expected a whole number').min(min, message).max(max, message);
};

export const flag = () => z.boolean('expected true or false');

export const texts = () => z.array(text(), 'expected a list of texts').readonly();

export const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.enum(names, `expected one of ${names.join(', ')}`);

/** An object with these fields only, so that a misspelt field is an error. */
export const fields = <Shape extends z.core.$ZodShape>(shape: Shape) => {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `unknown field "${issue.keys.join('", "')}"; known are ${known}`
        : 'expected an object',
  });
};

/**
 * The value, checked and with its defaults.
 *
 * @param what stands before the name of a field in messages. Default: nothing
 * @throws TypeError that names the first field that is wrong
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what = '',
): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data as z.output<Schema>;
  const place = issue.path.map((part) =>
    typeof part === 'number' ? `[${part}]` : ` ${String(part)}`,
  );
  const name = `${what}${place.join('')}`.trim();
  throw new TypeError(name === '' ? issue.message : `${name}: ${issue.message}`);
}

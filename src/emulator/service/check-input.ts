/**
 * Checks of options, apps and faults. Each returns the value with its type, or throws a TypeError (wrong
 * type) or RangeError (out of bounds) that names the field. No message contains a value: some are
 * secrets.
 */

/** An object that is not null and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object with `known` fields only, so that a misspelt field is an error. */
export function fieldsOf(
  what: string,
  value: unknown,
  known: readonly string[],
): Record<string, unknown> {
  if (!isObject(value)) throw new TypeError(`${what}: expected an object`);
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) {
      throw new TypeError(`${what}: unknown field "${name}"; known are ${known.join(', ')}`);
    }
  }
  return value;
}

export function integerIn(name: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new TypeError(`${name}: expected a whole number`);
  }
  if (value < min || value > max) {
    throw new RangeError(`${name}: expected ${min} to ${max}, got ${value}`);
  }
  return value;
}

export function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(`${name}: expected a text that is not empty`);
  }
  return value;
}

export function textsOf(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new TypeError(`${name}: expected a list of texts`);
  return value.map((item, index) => textOf(`${name}[${index}]`, item));
}

export function flagOf(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new TypeError(`${name}: expected true or false`);
  return value;
}

export function oneOf<const T extends string>(
  name: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const found = allowed.find((item) => item === value);
  if (found === undefined) throw new TypeError(`${name}: expected one of ${allowed.join(', ')}`);
  return found;
}

/** Deeper nesting than this in a field that passes through is a mistake, or a circle. */
const MAX_DEPTH = 32;

/**
 * Why JSON cannot hold a value as it is; undefined when it can. What `JSON.stringify` would turn
 * into something else (NaN, a Date, a Map, a function) or refuse (a BigInt, a circle) is a mistake
 * of the caller: the service would not get what the caller wrote. An undefined field of an object
 * counts as left out.
 */
export function whyNotJson(value: unknown): string | undefined {
  return problemOf(value, 0);
}

function problemOf(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : 'expected a finite number';
    case 'object':
      return value === null ? undefined : problemOfObject(value, depth);
    default:
      return `expected what JSON can hold, got a value of type ${typeof value}`;
  }
}

function problemOfObject(value: object, depth: number): string | undefined {
  if (depth >= MAX_DEPTH) return `expected at most ${MAX_DEPTH} levels of nesting`;
  if (!Array.isArray(value) && !isPlain(value)) {
    return 'expected what JSON can hold, got an object of a class';
  }
  const parts: unknown[] = Array.isArray(value)
    ? Array.from<unknown>(value)
    : Object.values(value).filter((part) => part !== undefined);
  for (const part of parts) {
    const problem = problemOf(part, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Also for objects of another realm, such as a test runner's. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

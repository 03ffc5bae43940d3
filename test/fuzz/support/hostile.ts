import * as fc from 'fast-check';

/** JSON, nested so deeply that a function which calls itself for each level overflows the stack. */
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
/** Frozen, because they are part of many inputs. */
const DEEP = Object.freeze(deep(20_000));
const NESTED = Object.freeze(deep(40));

/** Texts that other programs have stumbled over. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    '\u202e\u2028',
    '\u001b[31m',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'NaN',
    '-1',
    '1e999',
    '99999999999999999999',
    '01012345678',
    '010-1234-5678',
    '０１０１２３４５６７８',
    '+82 10 1234 5678',
    "=cmd|'/c calc'!A1",
    '#{var1} $& $1 ${x}',
    '../../etc/passwd',
    'a:b:c',
    '{"v":1}',
    '<script>',
    '\r\nset-cookie: a=b',
  ),
  fc.integer({ min: 1, max: 70_000 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 1, max: 5_000 }).map((length) => '1-'.repeat(length)),
);

/** Any value that JSON can have, and some that are worse. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.jsonValue() },
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, 2 ** 53, DEEP, NESTED),
  // Made anew each time: a change adds to them.
  fc.constantFrom('[]', '{}', '[null]').map((text) => JSON.parse(text) as unknown),
  fc.constant(undefined),
  fc.integer({ min: 1, max: 5_000 }).map((length) => Array.from({ length }, () => null)),
);

/** One change of a value: which of its places, and what is put there. */
const change = fc.record({
  place: fc.nat(1_000),
  how: fc.constantFrom('replace', 'replace', 'delete', 'add', 'own proto'),
  name: fc.oneof(
    hostileText,
    fc.constantFrom('contact', 'var1', 'v', 'notice', 'jobs', 'accepted'),
  ),
  value: hostileValue,
});

/** A good value with up to three changes: it gets past what looks only at its outside. */
export function nearly(good: unknown): fc.Arbitrary<unknown> {
  return fc.array(change, { maxLength: 3 }).map((changes) => {
    const box = { value: structuredClone(good) };
    const places = [...placesIn(box)];
    for (const { place, ...one } of changes) apply(one, places[place % places.length]);
    return box.value;
  });
}

type Change = typeof change extends fc.Arbitrary<infer One> ? One : never;
type Parent = Record<string, unknown>;
type Place = readonly [Parent, string];

/** Every place of a good value: those of what a change puts there are not changed. */
function* placesIn(parent: object): Generator<Place> {
  for (const [key, part] of Object.entries(parent)) {
    yield [parent as Parent, key];
    if (typeof part === 'object' && part !== null) yield* placesIn(part as object);
  }
}

function apply({ how, name, value }: Omit<Change, 'place'>, place: Place | undefined): void {
  if (place === undefined) return;
  const [parent, key] = place;
  const at = parent[key];
  if (how === 'replace') parent[key] = value;
  else if (how === 'delete') delete parent[key];
  else if (typeof at === 'object' && at !== null && Object.isExtensible(at)) {
    const field = how === 'add' ? name : '__proto__';
    if (Array.isArray(at)) at.push(value);
    else {
      const open = { enumerable: true, configurable: true, writable: true };
      Object.defineProperty(at, field, { value, ...open });
    }
  }
}

/** The text of a value, even of one that `JSON.stringify` cannot write. */
export function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return '['.repeat(20_000) + ']'.repeat(20_000);
  }
}

/** A text with a few bytes changed, doubled or cut off. */
export function damaged(texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const damage = fc.record({
    at: fc.nat(100_000),
    length: fc.nat(20),
    bytes: fc.uint8Array({ maxLength: 6 }),
  });
  return fc.tuple(texts, fc.array(damage, { maxLength: 3 })).map(([text, damages]) => {
    let bytes = Buffer.from(text);
    for (const { at, length, bytes: put } of damages) {
      const from = at % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + length)]);
    }
    return bytes;
  });
}

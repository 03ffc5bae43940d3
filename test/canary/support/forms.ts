/** What must not be found, and what it is. */
export interface Canary {
  readonly name: string;
  readonly value: string;
  /** A number is also searched with separators and in its international form. Default: a text. */
  readonly kind?: 'text' | 'number';
}

/** One spelling of a canary, as text in which each character is one byte. */
export interface Form {
  readonly form: string;
  readonly needle: string;
}

/** Shorter needles would be found by chance. */
const MIN_LENGTH = 8;

/** Bytes of a text in UTF-8, one character each. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

/**
 * Base64 of a text wherever it stands inside of a longer one: at each of the three places that it can begin at within
 * a group, without the characters that its neighbours share.
 */
function base64Inside(text: string, alphabet: 'base64' | 'base64url'): string[] {
  const plain = Buffer.from(text, 'latin1');
  return [0, 1, 2].map((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), plain]).toString(alphabet);
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor(((offset + plain.length) * 8) / 6);
    return whole.slice(from, to);
  });
}

const eachByte = (text: string, write: (byte: string) => string): string =>
  [...Buffer.from(text)].map((byte) => write(byte.toString(16).padStart(2, '0'))).join('');

const eachUnit = (text: string, write: (unit: string) => string): string =>
  Array.from({ length: text.length }, (_, at) =>
    write(text.charCodeAt(at).toString(16).padStart(4, '0')),
  ).join('');

const json = (text: string): string => JSON.stringify(text).slice(1, -1);

const ascii = (text: string): string =>
  text.replaceAll(/[\u0080-\uffff]/g, (one) => eachUnit(one, (unit) => `\\u${unit}`));

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The spellings in which a program could write a value without meaning to. */
const SPELLINGS: Readonly<Record<string, (value: string) => readonly string[]>> = {
  plain: (value) => [value, value.toLowerCase(), value.toUpperCase()],
  'JSON-escaped': (value) => [
    json(value),
    json(json(value)),
    json(value).replaceAll('/', String.raw`\/`),
    ascii(json(value)),
    json(ascii(json(value))),
    eachUnit(value, (unit) => `\\u${unit}`),
  ],
  'URL-encoded': (value) => [
    encodeURIComponent(value),
    encodeURI(value),
    encodeURIComponent(encodeURIComponent(value)),
    new URLSearchParams({ x: value }).toString().slice(2),
    eachByte(value, (byte) => `%${byte}`),
    eachByte(value, (byte) => `%${byte.toUpperCase()}`),
  ],
  'CSV-escaped': (value) => [value.replaceAll('"', '""')],
  'HTML-escaped': (value) => [value.replaceAll(/[&<>"']/g, (one) => HTML[one] ?? one)],
  hex: (value) => [eachByte(value, String), eachByte(value, (byte) => byte.toUpperCase())],
  base64: (value) => [
    ...base64Inside(bytes(value), 'base64'),
    ...base64Inside(bytes(value), 'base64url'),
  ],
  'double base64': (value) =>
    (['base64', 'base64url'] as const).flatMap((inner) =>
      base64Inside(bytes(value), inner).flatMap((text) => base64Inside(text, 'base64')),
    ),
};

/** The spellings of a canary, without those that are too short to be told from chance. */
export function formsOf({ value }: Canary): Form[] {
  const seen = new Set<string>();
  return Object.entries(SPELLINGS).flatMap(([form, spell]) =>
    spell(value).flatMap((spelling) => {
      const needle = bytes(spelling);
      if (needle.length < MIN_LENGTH || seen.has(needle)) return [];
      seen.add(needle);
      return [{ form, needle }];
    }),
  );
}

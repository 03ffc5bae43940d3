const ENTITY = /&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));/gi;
const UNICODE_ESCAPE = /\\u([0-9a-f]{4})/gi;
const PERCENT_RUN = /(?:%[0-9a-f]{2})+/gi;
const HEX_RUN = /(?:[0-9a-f]{2}){3,}/gi;
const BASE64_RUN = /[A-Za-z0-9+/_-]{4,}={0,2}/g;
/** What can be inside an encoding inside an encoding, and no deeper. */
const MAX_DEPTH = 3;
/** Spellings that are read at most. */
const MAX_SPELLINGS = 64;

/**
 * What a text contains in other spellings: URL-encoded, with escapes of JSON or HTML, in hexadecimal, in
 * base64, and these in one another. Without the text itself.
 */
export function spellingsOf(text: string): ReadonlySet<string> {
  const found = new Set([text]);
  let last = [text];
  for (let depth = 0; depth < MAX_DEPTH && found.size < MAX_SPELLINGS; depth += 1) {
    last = last.flatMap(decodings).filter((one) => !found.has(one));
    for (const one of last) found.add(one);
  }
  found.delete(text);
  return found;
}

function decodings(text: string): string[] {
  const unescaped = text
    .replace(PERCENT_RUN, (run) => textOf(Buffer.from(run.replaceAll('%', ''), 'hex')) ?? run)
    .replace(UNICODE_ESCAPE, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(ENTITY, (whole, hex: string | undefined, decimal: string | undefined) => {
      const point = hex === undefined ? Number(decimal) : parseInt(hex, 16);
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    });
  const runs = [
    ...[...text.matchAll(HEX_RUN)].map(([run]) => textOf(Buffer.from(run, 'hex'))),
    ...[...text.matchAll(BASE64_RUN)].map(([run]) => textOf(Buffer.from(run, 'base64'))),
  ];
  return [unescaped, ...runs.filter((run) => run !== undefined)];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined where the bytes are not text: a word that only looks encoded. */
function textOf(bytes: Buffer): string | undefined {
  try {
    const text = UTF8.decode(bytes);
    return /\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

const ENTITY = /&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));/gi;
const UNICODE_ESCAPE = /(?:\\u|%u|u\+)(?:([0-9a-f]{4})|\{([0-9a-f]{1,6})\})/gi;
/** Bytes one by one: of a URL, of a string of many languages, of a mail. */
const BYTE_RUN = /(?:(?:%|\\x|=)[0-9a-f]{2})+/gi;
const BYTE_SIGNS = /%|\\x|=/gi;
const HEX_RUN = /[0-9a-f]{8,}/gi;
const BASE64_RUN = /[A-Za-z0-9+/_-]{6,}/g;
/** Spellings that are read at most: encodings inside encodings. */
const MAX_SPELLINGS = 48;

/**
 * What a text contains in other spellings: URL-encoded, with escapes of JSON, HTML or of bytes, in hexadecimal, in
 * base64, cut or glued to other letters, and these in one another; bytes in UTF-8 or EUC-KR. Without the text itself.
 */
export function spellingsOf(text: string): ReadonlySet<string> {
  const found = new Set([text]);
  // What is added meanwhile is read, too.
  for (const one of found) {
    for (const other of decodings(one)) {
      if (other !== '' && found.size <= MAX_SPELLINGS) found.add(other);
    }
  }
  found.delete(text);
  return found;
}

function* decodings(text: string): Generator<string> {
  yield text
    .replace(BYTE_RUN, (run) => escapedText(Buffer.from(run.replace(BYTE_SIGNS, ''), 'hex')) ?? run)
    .replace(UNICODE_ESCAPE, (whole, unit: string | undefined, point: string | undefined) =>
      unit === undefined
        ? characterOf(parseInt(point ?? '', 16), whole)
        : String.fromCharCode(parseInt(unit, 16)),
    )
    .replace(ENTITY, (whole, hex: string | undefined, decimal: string | undefined) =>
      characterOf(hex === undefined ? Number(decimal) : parseInt(hex, 16), whole),
    );
  // Other letters may stand right before it.
  for (const at of [0, 1]) yield decodedAt(text, HEX_RUN, 'hex', at);
  for (const at of [0, 1, 2, 3]) yield decodedAt(text, BASE64_RUN, 'base64', at);
}

/** What the runs of an encoding say; without the rest of the text, which is read as it is. */
const decodedAt = (text: string, runs: RegExp, encoding: 'hex' | 'base64', at: number): string =>
  [...text.matchAll(runs)]
    .flatMap(([run]) => textIn(Buffer.from(run.slice(at), encoding)) ?? [])
    .join(' ');

/** The character of a code point. @param whole what it is written as, for a number that is none */
const characterOf = (point: number, whole: string): string =>
  point <= 0x10ffff ? String.fromCodePoint(point) : whole;

const [UTF8, EUC_KR] = ['utf-8', 'euc-kr'].map((charset) => new TextDecoder(charset));
const TEXT = /[^\p{Cc}\ufffd]+/gu;
const HANGUL = /[가-힣]{2,}/g;

/** The parts of bytes that are text; undefined where there are none: a word that only looks encoded. */
export function textIn(bytes: Uint8Array): string | undefined {
  const parts = (UTF8?.decode(bytes).match(TEXT) ?? []).filter(
    (part) => part.length >= 4 || /[^\0-\x7f]{2}/.test(part),
  );
  const found = parts.length > 0 ? parts : EUC_KR?.decode(bytes).match(HANGUL);
  return found?.join(' ');
}

/** What a run of single bytes says: one letter, too, because such runs are no words. */
const escapedText = (bytes: Uint8Array): string | undefined => {
  const text = UTF8?.decode(bytes);
  return text === undefined || /[\p{Cc}\ufffd]/u.test(text) ? textIn(bytes) : text;
};

/** Fewer letters or digits of a value in a row are taken for a word that others use, too. */
const MIN_PART = 6;
/** The same for letters that are not ASCII: a syllable says more. */
const MIN_WIDE_PART = 3;
/** Shorter values of ASCII are found as whole words only. */
const MIN_GLUED = 4;

const ASCII = /^[\0-\x7f]*$/;
const WORD_CHARACTER = /[\p{Script=Latin}\p{N}]/u;
const CHARACTER = /[\p{L}\p{N}]/u;
/** By code of ASCII: 1 for 0 to 9, A to Z and a to z. */
const IS_CHARACTER = Uint8Array.from({ length: 128 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** A part of a text that repeats a value: from and to, and how many letters and digits it has. */
export interface Repeat {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/**
 * Values as pieces of a few letters and digits, so that what it costs to find a value in a text, whole or cut short,
 * depends on the text only, not on how many values there are.
 */
export class ValuePieces {
  readonly #byLength = new Map<number, Set<string>>();

  /** @param least length of a part of a longer value that counts as a repeat */
  add(value: string, least = MIN_PART): void {
    const { folded } = fold(value.normalize('NFKC'));
    if (folded === '') return;
    if (folded.length <= least) this.#add(folded);
    for (let end = least; end <= folded.length; end += 1) this.#add(folded.slice(end - least, end));
    if (ASCII.test(folded)) return;
    for (let end = MIN_WIDE_PART; end <= folded.length; end += 1) {
      const part = folded.slice(end - MIN_WIDE_PART, end);
      if (/^[^\0-\x7f]+$/.test(part)) this.#add(part);
    }
  }

  #add(piece: string): void {
    const pieces = this.#byLength.get(piece.length);
    if (pieces === undefined) this.#byLength.set(piece.length, new Set([piece]));
    else pieces.add(piece);
  }

  /** What a text, normalised, repeats of the values, in order. */
  repeatsIn(text: string): Repeat[] {
    const { folded, places } = fold(text);
    const isHit = new Uint8Array(folded.length);
    for (const [length, pieces] of this.#byLength) {
      for (let at = 0; at + length <= folded.length; at += 1) {
        const piece = folded.slice(at, at + length);
        if (!pieces.has(piece)) continue;
        const [from = 0, to = 0] = [places[at], places[at + length - 1]];
        if (isLoose(piece) && !isWord(text, from, to)) continue;
        isHit.fill(1, at, at + length);
      }
    }
    const repeats: Repeat[] = [];
    for (let at = isHit.indexOf(1); at >= 0; at = isHit.indexOf(1, at)) {
      const start = at;
      while (isHit[at] === 1) at += 1;
      const [from = 0, to = 0] = [places[start], places[at - 1]];
      repeats.push({ from, to: to + 1, length: at - start });
    }
    return repeats;
  }
}

const isLoose = (piece: string): boolean => piece.length < MIN_GLUED && ASCII.test(piece);

const isWord = (text: string, from: number, to: number): boolean =>
  !WORD_CHARACTER.test(text[from - 1] ?? '') && !WORD_CHARACTER.test(text[to + 1] ?? '');

/** The letters and digits of a text without case, and where in the text each of them is. */
function fold(text: string): { readonly folded: string; readonly places: readonly number[] } {
  const places: number[] = [];
  let folded = '';
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 128 ? IS_CHARACTER[code] === 0 : !CHARACTER.test(text.charAt(at))) continue;
    const lower = text.charAt(at).toLowerCase().charAt(0);
    folded += lower === 'ς' ? 'σ' : lower;
    places.push(at);
  }
  return { folded, places };
}

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

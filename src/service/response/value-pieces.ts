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

const FILTER_SIZE = 4_096;

/**
 * Whether so many letters and digits of one of the texts occur in the bytes of a body, whatever is between them. Reads
 * the body once, at about a nanosecond a byte, and parses nothing.
 */
export function sharesPart(body: Uint8Array, texts: readonly string[], size: number): boolean {
  const parts = new Set<string>();
  const endings = new Uint8Array(FILTER_SIZE);
  for (const text of texts) {
    const letters = Buffer.from(fold(text.normalize('NFKC')).folded);
    for (let end = size; end <= letters.length; end += 1) {
      parts.add(letters.toString('latin1', end - size, end));
      endings[endingOf(letters[end - 2] ?? 0, letters[end - 1] ?? 0)] = 1;
    }
  }
  if (parts.size === 0) return false;
  const letters = Buffer.allocUnsafe(body.length);
  let length = 0;
  let last = 0;
  for (const byte of body) {
    if (byte < 128 && IS_CHARACTER[byte] === 0) continue;
    const lower = byte >= 65 && byte <= 90 ? byte + 32 : byte;
    letters[length] = lower;
    length += 1;
    const isEnding = endings[endingOf(last, lower)] === 1 && length >= size;
    if (isEnding && parts.has(letters.toString('latin1', length - size, length))) return true;
    last = lower;
  }
  return false;
}

const endingOf = (last: number, byte: number): number => ((last << 5) ^ byte) & (FILTER_SIZE - 1);

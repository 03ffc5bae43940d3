import { PieceIndex } from './piece-index.ts';

/** What is written in place of something that is not shown. */
export const MASK = '***';
/** Digits that two numbers have in common only if they are the same. */
export const NUMBER_TAIL = 8;
/** Digits of a number that are more than a masked number shows. */
export const NUMBER_PART = 6;
/** Shorter values of ASCII are found as whole words only; letters of another script end a word. */
const MIN_PIECE_LENGTH = 6;
/** A value is found by so many of its first characters: services cut long ones off. */
const HEAD_LENGTH = 12;

const ASCII = /^[\0-\x7f]*$/;
const WORD_CHARACTER = /[\p{Script=Latin}\p{N}]/u;
/** Text whose lower case can change when a part of it is masked. */
const UNSTEADY_CASE = /[İΣσς\ud800-\udfff]/;

/**
 * The values of one request and our secrets, prepared to be looked for in many texts: an answer may have a code and a
 * message for each of thousands of contacts, and the request as many values.
 */
export class SentIndex {
  readonly #values: readonly string[];
  readonly #heads = new PieceIndex<SentPlace>();
  /** Values that consist of what masks are made of, at their beginning: in any text. */
  readonly #everywhere: SentPlace[] = [];
  readonly #folded = new PieceIndex<true>();
  readonly #numbers = new PieceIndex<true>();
  /** Made when a text has so many digits: few have. */
  #numberParts: ReadonlySet<string> | undefined;

  /** @param values the longest first */
  constructor(values: readonly string[], secrets: readonly string[]) {
    this.#values = values;
    const heads = new Set<string>();
    for (const [place, value] of values.entries()) {
      const head = keyOf(value.toLowerCase().slice(0, HEAD_LENGTH));
      const isMaskLike = head.includes('*');
      const isMaskedWhole = !isMaskLike && !isFoundAsWord(value);
      const owner = { place, isCovered: isMaskedWhole && heads.has(head) };
      if (isMaskedWhole) heads.add(head);
      // What lies between masks was in the text before them.
      const piece = isMaskLike ? longest(head.split('*')) : head;
      if (piece === '') this.#everywhere.push(owner);
      else this.#heads.add(piece, owner);
      const digits = digitsOf(value);
      if (digits.length >= NUMBER_TAIL) this.#numbers.add(digits.slice(-NUMBER_TAIL), true);
    }
    for (const value of [...values, ...secrets]) {
      const folded = fold(value);
      if (isDistinctive(folded)) this.#folded.add(folded.slice(0, 2 * HEAD_LENGTH), true);
    }
  }

  /** The text with each value masked, the longest first. */
  blank(text: string): string {
    let blanked = text;
    for (const value of this.#possiblyIn(text)) blanked = blankOne(blanked, value);
    return blanked;
  }

  /** Whether one of the spellings of a text contains a secret or a value. */
  repeats(spellings: readonly string[]): boolean {
    return spellings.some(
      (spelling) => this.#folded.isIn(fold(spelling)) || this.#numbers.isIn(digitsOf(spelling)),
    );
  }

  /** Whether the digits of a short text, such as a code, show more of a number than a masked number does. */
  showsNumber(text: string): boolean {
    const parts = windowsOf(digitsOf(text), NUMBER_PART);
    if (parts.length === 0) return false;
    this.#numberParts ??= new Set(
      this.#values
        .map(digitsOf)
        .filter(({ length }) => length >= NUMBER_TAIL)
        .flatMap((digits) => windowsOf(digits, NUMBER_PART)),
    );
    return parts.some((part) => this.#numberParts?.has(part));
  }

  /** Every value that masking one after the other would find in the text, in order. */
  #possiblyIn(text: string): string[] {
    const places = new Set<number>();
    const takesAll = UNSTEADY_CASE.test(text);
    const add = ({ place, isCovered }: SentPlace): void => {
      if (takesAll || !isCovered) places.add(place);
    };
    this.#everywhere.forEach(add);
    for (const owners of this.#heads.ownersIn(keyOf(text))) owners.forEach(add);
    return [...places].sort((one, other) => one - other).map((place) => this.#values[place] ?? '');
  }
}

interface SentPlace {
  /** Of the value in the list. */
  readonly place: number;
  /** A value before it has the same head: once that is masked, the head is not in the text any more. */
  readonly isCovered: boolean;
}

/** The text with a value masked, wherever it occurs, in capitals or not, whole or cut off. */
function blankOne(text: string, value: string): string {
  const [lower, wanted] = [text.toLowerCase(), value.toLowerCase()];
  // A few letters change their length with their case.
  const inside = lower.length === text.length ? lower : text;
  const head = wanted.slice(0, HEAD_LENGTH);
  const wordsOnly = isFoundAsWord(value);
  let [masked, from] = ['', 0];
  for (let at = inside.indexOf(head); at >= 0; at = inside.indexOf(head, from)) {
    let end = at + head.length;
    while (end - at < wanted.length && end < inside.length && inside[end] === wanted[end - at]) {
      end += 1;
    }
    const isPart =
      wordsOnly &&
      (WORD_CHARACTER.test(text[at - 1] ?? '') || WORD_CHARACTER.test(text[end] ?? ''));
    masked += text.slice(from, at) + (isPart ? text.slice(at, end) : MASK);
    from = end;
  }
  return masked + text.slice(from);
}

/**
 * The same for all texts that are equal but for their case, unit by unit: what surrounds a letter, and what is masked
 * around it, makes no difference.
 */
const keyOf = (text: string): string =>
  text
    .replaceAll('İ', '\0')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/[\ud800-\udfff]/g, '\ud800');

const isFoundAsWord = (value: string): boolean =>
  value.length < MIN_PIECE_LENGTH && ASCII.test(value);

const longest = (pieces: readonly string[]): string =>
  pieces.reduce((most, piece) => (piece.length > most.length ? piece : most), '');

/** A text without case, width and separators. */
const fold = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}*]/gu, '');

/** Short folded values would be found in ordinary words. */
const isDistinctive = (value: string): boolean =>
  value.length >= MIN_PIECE_LENGTH || (value.length > 1 && !ASCII.test(value));

/** Every part of a text that has so many characters. */
const windowsOf = (text: string, length: number): string[] =>
  Array.from({ length: Math.max(0, text.length - length + 1) }, (_, at) =>
    text.slice(at, at + length),
  );

const digitsOf = (text: string): string => text.normalize('NFKC').replace(/[^0-9]/g, '');

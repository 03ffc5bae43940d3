import { MAX_EXACT_DIGITS } from '../source/contact-block.ts';

/**
 * A set of phone numbers, exact, and small where numbers lie close together, as they do: ten million
 * mobile numbers take about 13 MB.
 *
 * Numbers are grouped in pages of 65,536 neighbours of the same length, so that `0101` and `101` are
 * two numbers. A page holds its members' last 16 bits: one by itself as a plain number, a few as a
 * sorted array, many as a bitmap. Numbers of more than 15 digits, which a double does not hold
 * exactly, are kept as text.
 */
export class NumberSet {
  readonly #pages = new Map<number, Page>();
  readonly #long = new Set<string>();

  /**
   * @param digits a phone number: ASCII digits and nothing else
   * @returns whether it was not in the set before
   */
  add(digits: string): boolean {
    if (digits.length > MAX_EXACT_DIGITS) {
      const before = this.#long.size;
      return this.#long.add(digits).size > before;
    }
    return this.addNumber(Number(digits), digits.length);
  }

  /**
   * @param value of a phone number of at most {@link MAX_EXACT_DIGITS} digits
   * @param digits how many it has, zeros before it counted
   * @returns whether it was not in the set before
   */
  addNumber(value: number, digits: number): boolean {
    const low = value % PAGE_SIZE;
    const key = ((value - low) / PAGE_SIZE) * 16 + digits;
    const page = this.#pages.get(key);
    if (page === undefined) {
      this.#pages.set(key, low);
      return true;
    }
    if (page instanceof Uint8Array) return addToBitmap(page, low);
    if (typeof page === 'number') {
      if (page === low) return false;
      this.#pages.set(key, Uint16Array.of(2, Math.min(page, low), Math.max(page, low), 0));
      return true;
    }
    const grown = addToArray(page, low);
    if (grown === undefined) return false;
    if (grown !== page) this.#pages.set(key, grown);
    return true;
  }
}

/** One member; or how many there are, then the members in order; or a bit for each. */
type Page = number | Uint16Array | Uint8Array;

const PAGE_SIZE = 0x10000;
/** From here on a bitmap is the smaller form. */
const MAX_ARRAY = PAGE_SIZE / 16 - 1;

function addToBitmap(bits: Uint8Array, low: number): boolean {
  const at = low >> 3;
  const bit = 1 << (low & 7);
  const byte = bits[at] ?? 0;
  bits[at] = byte | bit;
  return (byte & bit) === 0;
}

/** The page with the member in it, the same or a bigger one; undefined where it was there before. */
function addToArray(page: Uint16Array, low: number): Uint16Array | Uint8Array | undefined {
  const count = page[0] ?? 0;
  let from = 1;
  let to = count + 1;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((page[middle] ?? 0) < low) from = middle + 1;
    else to = middle;
  }
  if (from <= count && page[from] === low) return undefined;
  if (count === MAX_ARRAY) {
    const bits = new Uint8Array(PAGE_SIZE / 8);
    for (const member of page.subarray(1, count + 1)) addToBitmap(bits, member);
    addToBitmap(bits, low);
    return bits;
  }
  let grown = page;
  if (count + 1 === page.length) {
    grown = new Uint16Array(Math.min(page.length * 2, MAX_ARRAY + 1));
    grown.set(page);
  }
  grown.copyWithin(from + 1, from, count + 1);
  grown[from] = low;
  grown[0] = count + 1;
  return grown;
}

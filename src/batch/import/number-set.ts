import { MAX_EXACT_DIGITS } from '../source/source-row.ts';

/**
 * An exact, compact set of phone numbers: ten million mobile numbers take about 13 MB.
 *
 * Numbers are grouped into pages of 65,536 consecutive values with the same number of digits (`0101`
 * and `101` are different numbers). A page stores the last 16 bits of its members: a single one as a
 * number, a few as a sorted array, many as a bitmap. Numbers of more than 15 digits, which a double
 * does not hold exactly, are stored as text.
 */
export class NumberSet {
  readonly #pages = new Map<number, Page>();
  readonly #long = new Set<string>();

  /** @returns whether it was added; false if it was in the set already */
  add(digits: string): boolean {
    if (digits.length > MAX_EXACT_DIGITS) {
      const before = this.#long.size;
      return this.#long.add(digits).size > before;
    }
    return this.addNumber(Number(digits), digits.length);
  }

  /** @param digits number of digits, leading zeros included */
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

/** One member; or the number of members, followed by the sorted members; or a bitmap. */
type Page = number | Uint16Array | Uint8Array;

const PAGE_SIZE = 0x10000;
/** With more members a bitmap is smaller than an array. */
const MAX_ARRAY = PAGE_SIZE / 16 - 1;

function addToBitmap(bits: Uint8Array, low: number): boolean {
  const at = low >> 3;
  const bit = 1 << (low & 7);
  const byte = bits[at] ?? 0;
  bits[at] = byte | bit;
  return (byte & bit) === 0;
}

/** The page with the member added, possibly a new one; undefined if it was a member already. */
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

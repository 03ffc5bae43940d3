import { createCipheriv, hkdfSync, type Cipher } from 'node:crypto';

/**
 * Prints of the numbers of a list, to find those that a recent list has, too. A print is 52 bits of the number
 * encrypted with a key (AES): without the key all numbers could be tried. A million take some 50 ms.
 */
const PRINT_BITS = 52;
const BLOCK_BYTES = 16;
const BLOCKS = 1_024;

/** The key of an account's prints. @param secret of the account */
export function printKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'notice-queue recent lists v1', 32));
}

/** Collects the prints of a list. */
export class NumberPrints {
  readonly #cipher: Cipher;
  readonly #input = new Uint32Array((BLOCKS * BLOCK_BYTES) / 4);
  #filled = 0;
  #prints = new Float64Array(BLOCKS);
  #count = 0;

  constructor(key: Buffer) {
    this.#cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  }

  /** Adds a number of at most 15 digits. @param digits how many, leading zeros included */
  add(value: number, digits: number): void {
    writeBlock(this.#input, this.#filled * 4, value, digits);
    if (++this.#filled === BLOCKS) this.#encrypt();
  }

  addText(number: string): void {
    writeText(this.#input, this.#filled * 4, number);
    if (++this.#filled === BLOCKS) this.#encrypt();
  }

  /** All prints in ascending order, each once. Afterwards nothing can be added. */
  sorted(): Float64Array {
    this.#encrypt();
    const all = this.#prints.subarray(0, this.#count).sort();
    // The caller alone keeps them: they are the most that an import has in memory.
    this.#prints = new Float64Array(0);
    this.#count = 0;
    let kept = 0;
    for (const print of all) {
      if (kept === 0 || all[kept - 1] !== print) all[kept++] = print;
    }
    return all.subarray(0, kept);
  }

  of(number: string | { readonly value: number; readonly digits: number }): number {
    const block = new Uint32Array(BLOCK_BYTES / 4);
    if (typeof number === 'string') writeText(block, 0, number);
    else writeBlock(block, 0, number.value, number.digits);
    return printAt(this.#cipher.update(bytesOf(block)), 0);
  }

  #encrypt(): void {
    const blocks = this.#cipher.update(bytesOf(this.#input.subarray(0, this.#filled * 4)));
    if (this.#count + this.#filled > this.#prints.length) {
      const grown = new Float64Array(this.#prints.length * 2);
      grown.set(this.#prints);
      this.#prints = grown;
    }
    for (let block = 0; block < this.#filled; block++) {
      this.#prints[this.#count++] = printAt(blocks, block * BLOCK_BYTES);
    }
    this.#filled = 0;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

const printAt = (bytes: Buffer, at: number): number =>
  bytes.readUInt32BE(at) * 0x100000 + (bytes.readUInt32BE(at + 4) >>> 12);

function writeBlock(block: Uint32Array, at: number, value: number, digits: number): void {
  const low = value % 0x100000000;
  block[at] = low;
  block[at + 1] = (value - low) / 0x100000000;
  block[at + 2] = digits;
  block[at + 3] = 0;
}

function writeText(block: Uint32Array, at: number, number: string): void {
  if (number.length <= 15) {
    writeBlock(block, at, Number(number), number.length);
    return;
  }
  // Longer ones are more than a double holds: three groups of digits, marked by the last word.
  for (let group = 0; group < 3; group++) {
    block[at + group] = Number(number.slice(group * 8, group * 8 + 8));
  }
  block[at + 3] = number.length;
}

/** Bytes of a print of {@link wholePrints}. */
export const WHOLE_BYTES = 8;

/** Longer prints, for a list that every contact is looked up in: 64 bits of each number, one after the other. */
export function wholePrints(key: Buffer, numbers: readonly string[]): Buffer {
  const input = new Uint32Array((numbers.length * BLOCK_BYTES) / 4);
  for (const [index, number] of numbers.entries()) writeText(input, index * 4, number);
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false);
  const blocks = cipher.update(bytesOf(input));
  const prints = Buffer.allocUnsafe(numbers.length * WHOLE_BYTES);
  for (let index = 0; index < numbers.length; index++) {
    blocks.copy(
      prints,
      index * WHOLE_BYTES,
      index * BLOCK_BYTES,
      index * BLOCK_BYTES + WHOLE_BYTES,
    );
  }
  return prints;
}

/**
 * Bits of the prints that are stored for each number beyond those that tell numbers of a list apart: a number that a list
 * does not have is found in it once in 268 million times.
 */
const SURE_BITS = 28;
/** A difference that does not fit is written as several. */
const MOST = 0xffffffff;

/**
 * Prints as they are stored, in pieces of so many bytes: how many of their bits are, then the differences of these, in
 * four bytes each.
 */
export function* encodePrints(sorted: Float64Array, bytes: number): Generator<Buffer, void> {
  const bits = Math.min(PRINT_BITS, SURE_BITS + Math.ceil(Math.log2(sorted.length + 1)));
  const divisor = 2 ** (PRINT_BITS - bits);
  let piece = new Uint32Array(bytes / 4);
  piece[0] = bits;
  let [at, before] = [1, 0];
  for (const print of sorted) {
    const shortened = Math.floor(print / divisor);
    for (let left = shortened - before; left >= 0; left -= MOST) {
      if (at === piece.length) {
        yield Buffer.from(piece.buffer);
        piece = new Uint32Array(bytes / 4);
        at = 0;
      }
      piece[at++] = Math.min(left, MOST);
    }
    before = shortened;
  }
  yield Buffer.from(piece.buffer, 0, at * 4);
}

/**
 * Finds the prints that a stored list has.
 *
 * @param stored pieces of {@link encodePrints}, perhaps not all
 * @param onFound called with the index of each in `sorted`
 */
export async function findStored(
  sorted: Float64Array,
  stored: AsyncIterable<Uint32Array>,
  onFound: (index: number) => void,
): Promise<void> {
  let divisor: number | undefined;
  let [own, value] = [0, 0];
  for await (const piece of stored) {
    const isFirst = divisor === undefined;
    divisor ??= 2 ** (PRINT_BITS - (piece[0] ?? PRINT_BITS));
    for (let at = isFirst ? 1 : 0; at < piece.length && own < sorted.length; at++) {
      const difference = piece[at] ?? 0;
      value += difference;
      if (difference === MOST) continue;
      while (own < sorted.length && Math.floor((sorted[own] ?? 0) / divisor) < value) own++;
      while (own < sorted.length && Math.floor((sorted[own] ?? 0) / divisor) === value) {
        onFound(own);
        own++;
      }
    }
  }
}

import type { ContactBlock } from '../source/contact-block.ts';

const OPEN = 0x5b;
const CLOSE = Buffer.from(']');

/** A chunk whose contacts come together: in the end, the bytes of a JSON array. */
export class ChunkBuilder {
  /** Contacts so far. */
  size = 0;
  #pieces: Buffer[] = [];
  #numbers: string[] = [];
  readonly #keepsNumbers: boolean;
  /** The last piece may still grow: these contacts of this block are in it. */
  #run: { readonly block: ContactBlock; readonly from: number; to: number } | undefined;

  /** @param keepsNumbers whether the numbers of the contacts are wanted, too */
  constructor(keepsNumbers: boolean) {
    this.#keepsNumbers = keepsNumbers;
  }

  /** Adds one contact of a block. */
  add(block: ContactBlock, index: number): void {
    this.size++;
    if (this.#keepsNumbers) this.#numbers.push(numberOf(block, index));
    if (this.#run?.block === block && this.#run.to === index) {
      this.#run.to = index + 1;
      return;
    }
    this.#endRun();
    this.#run = { block, from: index, to: index + 1 };
  }

  /** Adds one contact as JSON. */
  addJson(json: string, number: string): void {
    this.size++;
    if (this.#keepsNumbers) this.#numbers.push(number);
    this.#endRun();
    this.#pieces.push(Buffer.from(`,${json}`));
  }

  /** The array of all that was added, and its numbers where they are kept. Begins anew. */
  take(): { readonly json: Buffer; readonly numbers: readonly string[] } {
    this.#endRun();
    const json = Buffer.concat([...this.#pieces, CLOSE]);
    // In place of the comma before the first.
    json[0] = OPEN;
    this.#pieces = [];
    const numbers = this.#numbers;
    this.#numbers = [];
    this.size = 0;
    return { json, numbers };
  }

  #endRun(): void {
    if (this.#run === undefined) return;
    const { block, from, to } = this.#run;
    const start = from === 0 ? 0 : block.ends[from - 1];
    this.#pieces.push(block.json.subarray(start, block.ends[to - 1]));
    this.#run = undefined;
  }
}

/** A phone number of a block, with its leading zeros. */
function numberOf({ numbers, digits }: ContactBlock, index: number): string {
  return String(numbers[index] ?? 0).padStart(digits[index] ?? 0, '0');
}

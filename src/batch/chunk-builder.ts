import type { ContactBlock } from './contact-block.ts';

const OPEN = 0x5b;
const CLOSE = Buffer.from(']');

/** A chunk whose contacts come together: in the end, the bytes of a JSON array. */
export class ChunkBuilder {
  /** Contacts so far. */
  size = 0;
  #pieces: Buffer[] = [];
  /** The last piece may still grow: these contacts of this block are in it. */
  #run: { readonly block: ContactBlock; readonly from: number; to: number } | undefined;

  /** Adds one contact of a block. */
  add(block: ContactBlock, index: number): void {
    this.size++;
    if (this.#run?.block === block && this.#run.to === index) {
      this.#run.to = index + 1;
      return;
    }
    this.#endRun();
    this.#run = { block, from: index, to: index + 1 };
  }

  /** Adds one contact as JSON. */
  addJson(json: string): void {
    this.size++;
    this.#endRun();
    this.#pieces.push(Buffer.from(`,${json}`));
  }

  /** The array of all that was added, and begins anew. */
  take(): Buffer {
    this.#endRun();
    const json = Buffer.concat([...this.#pieces, CLOSE]);
    // In place of the comma before the first.
    json[0] = OPEN;
    this.#pieces = [];
    this.size = 0;
    return json;
  }

  #endRun(): void {
    if (this.#run === undefined) return;
    const { block, from, to } = this.#run;
    const start = from === 0 ? 0 : block.ends[from - 1];
    this.#pieces.push(block.json.subarray(start, block.ends[to - 1]));
    this.#run = undefined;
  }
}

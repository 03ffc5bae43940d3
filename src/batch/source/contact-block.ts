/** The most digits of a number that a double holds exactly. */
export const MAX_EXACT_DIGITS = 15;

/** Contacts that a block holds, at most. */
const BLOCK_CONTACTS = 1_000;
const BLOCK_BYTES = 256 * 1024;

/**
 * Good rows of a list that stood one behind the other, as the bytes that go into the send call's
 * body: no object and no text was made of them.
 */
export class ContactBlock {
  /** The contacts' JSON, each behind a comma. */
  readonly json = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  /** Where the JSON of each ends. */
  readonly ends = new Uint32Array(BLOCK_CONTACTS);
  /** Their phone numbers, as {@link MAX_EXACT_DIGITS} allows, and how many digits each has. */
  readonly numbers = new Float64Array(BLOCK_CONTACTS);
  readonly digits = new Uint8Array(BLOCK_CONTACTS);
  /** The line of the list each stood in. */
  readonly lines = new Uint32Array(BLOCK_CONTACTS);
  count = 0;

  /** Bytes of JSON so far. */
  get length(): number {
    return this.count === 0 ? 0 : (this.ends[this.count - 1] ?? 0);
  }

  /** Whether one more of so many bytes fits. */
  hasRoom(bytes: number): boolean {
    return this.count < BLOCK_CONTACTS && this.length + bytes <= BLOCK_BYTES;
  }
}

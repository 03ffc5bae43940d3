import { createHash, createHmac, type Hash } from 'node:crypto';
import type { ContactBlock, SourcePart } from '../source/source-row.ts';

/**
 * What identifies a list: a keyed hash of the request body that its contacts share (template, sender keys, other
 * fields) and of the contacts that its valid rows become, in order and before duplicates are skipped. File
 * format, compression, encoding and refused rows do not change it; neither do the options of sending.
 */
export class ListDigest {
  readonly #hash: Hash;
  readonly #secret: string;
  contacts = 0;
  bytes = 0;

  /**
   * @param frame the shared part of the request body, in a form that does not depend on its order
   * @param secret of the account: there are so few phone numbers that those of a hash without it could be found
   */
  constructor(frame: string, secret: string) {
    this.#secret = secret;
    this.#hash = createHash('sha256').update(`${frame}\n`);
  }

  content(): string {
    const digest = this.#hash.copy().digest();
    return createHmac('sha256', this.#secret).update(digest).digest('base64url');
  }

  /** Adds rows; refused ones are ignored. */
  addPart(part: SourcePart): void {
    if ('block' in part) this.addRun(part.block, part.from, part.to);
    else if (part.check.kind === 'contact') this.addJson(part.check.json);
  }

  addRun({ json, ends }: ContactBlock, from: number, to: number): void {
    if (from === to) return;
    const startOf = (index: number) => (index === 0 ? 0 : (ends[index - 1] ?? 0));
    this.#add(json.subarray(startOf(from), startOf(to)), to - from);
  }

  addJson(json: string): void {
    this.#add(Buffer.from(`,${json}`), 1);
  }

  #add(bytes: Buffer, contacts: number): void {
    this.#hash.update(bytes);
    this.contacts += contacts;
    this.bytes += bytes.length;
  }
}

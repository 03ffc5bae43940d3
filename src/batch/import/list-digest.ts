import { createHash, createHmac, type Hash } from 'node:crypto';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import { nextRows, type ContactBlock, type SourcePart } from '../source/source-row.ts';
import type { SourceReader } from '../source/source-row.ts';

/** The head of a list: so many contacts, or so many bytes of their JSON, whichever ends first. */
export const HEAD_CONTACTS = 1_000;
const HEAD_BYTES = 1024 * 1024;
/** The head also ends after so many characters of refused rows, which are kept in memory with it. */
const HEAD_REFUSED_LENGTH = 8 * 1024 * 1024;

/**
 * What identifies a list: a keyed hash of the request body that its contacts share (template, sender keys, other
 * fields) and of the contacts that its valid rows become, in order and before duplicates are skipped. File
 * format, compression, encoding and refused rows do not change it; neither do the options of sending.
 */
export class ListDigest {
  readonly #hash: Hash;
  readonly #secret: string;
  #head: string | undefined;
  #headContacts = 0;
  #bytes = 0;
  /** Valid rows so far. */
  contacts = 0;

  /**
   * @param frame the shared part of the request body, in a form that does not depend on its order
   * @param secret of the account: there are so few phone numbers that those of a hash without it could be found
   */
  constructor(frame: string, secret: string) {
    this.#secret = secret;
    this.#hash = createHash('sha256').update(`${frame}\n`);
  }

  /** Digest of the head; undefined until all of it was added. */
  get head(): string | undefined {
    return this.#head;
  }

  /** Valid rows in the head; of a list that is not longer, all of them. */
  get headContacts(): number {
    return this.#head === undefined ? this.contacts : this.#headContacts;
  }

  /** Digest of the rows so far. */
  content(): string {
    return this.#keyed(this.#hash.copy());
  }

  /** Adds rows; refused ones are ignored. */
  addPart(part: SourcePart): void {
    if ('block' in part) this.addRun(part.block, part.from, part.to);
    else if (part.check.kind === 'contact') this.addJson(part.check.json);
  }

  /** Adds the contacts of a block from one index up to, not including, another. */
  addRun({ json, ends }: ContactBlock, from: number, to: number): void {
    let at = from;
    const startOf = (index: number) => (index === 0 ? 0 : (ends[index - 1] ?? 0));
    for (; at < to && this.#head === undefined; at++) {
      this.#add(json.subarray(startOf(at), startOf(at + 1)), 1);
    }
    if (at < to) this.#add(json.subarray(startOf(at), startOf(to)), to - at);
  }

  /** Adds one contact. */
  addJson(json: string): void {
    this.#add(Buffer.from(`,${json}`), 1);
  }

  #add(bytes: Buffer, contacts: number): void {
    this.#hash.update(bytes);
    this.contacts += contacts;
    this.#bytes += bytes.length;
    if (this.#head !== undefined) return;
    if (this.contacts < HEAD_CONTACTS && this.#bytes < HEAD_BYTES) return;
    this.#headContacts = this.contacts;
    this.#head = this.#keyed(this.#hash.copy().update('\nhead'));
  }

  #keyed(hash: Hash): string {
    return createHmac('sha256', this.#secret).update(hash.digest()).digest('base64url');
  }
}

/** The first rows of a list, which are read before anything is stored. */
export interface ListHead {
  readonly parts: readonly SourcePart[];
  /** Digest of the head, or of the whole list if it is not longer. */
  readonly identity: string;
  /** Whether the list ended with it: the identity is that of the whole list. */
  readonly complete: boolean;
  /** Number of valid rows in it. */
  readonly contacts: number;
}

/**
 * Reads the head of a list.
 *
 * @param digest to which the rows are added
 * @returns undefined if the list has no rows
 * @throws NoticeQueueError SOURCE_INVALID if the list begins with too many refused rows: without a contact it
 * would not be recognised when it is imported again
 */
export async function readHead(
  rows: SourceReader['rows'],
  digest: ListDigest,
  signal: AbortSignal | undefined,
): Promise<ListHead | undefined> {
  const parts: SourcePart[] = [];
  let refusedLength = 0;
  /** The head, where refused rows ended it: wherever the pieces of the text end. */
  let short: Pick<ListHead, 'identity' | 'contacts'> | undefined;
  while (digest.head === undefined && short === undefined) {
    const next = await nextRows(rows, signal);
    if (next === undefined) break;
    for (const part of next) {
      digest.addPart(part);
      parts.push(part);
      if ('block' in part || digest.head !== undefined || short !== undefined) continue;
      refusedLength += lengthOf(part.original);
      if (refusedLength < HEAD_REFUSED_LENGTH) continue;
      if (digest.contacts === 0) throw allRefused(parts);
      short = { identity: digest.content(), contacts: digest.contacts };
    }
  }
  if (parts.length === 0) return undefined;
  const { head, headContacts: contacts } = digest;
  const complete = head === undefined && short === undefined;
  return { parts, complete, ...(short ?? { identity: head ?? digest.content(), contacts }) };
}

function allRefused(parts: readonly SourcePart[]): NoticeQueueError {
  const [first] = parts;
  const why =
    first !== undefined && 'check' in first && first.check.kind === 'refused'
      ? `: line ${first.line}: ${first.check.reason}`
      : '';
  return new NoticeQueueError(
    'SOURCE_INVALID',
    `The first ${countOf(parts.length, 'row')} are all rejected${why}.`,
  );
}

function lengthOf(original: readonly string[] | string | undefined): number {
  if (typeof original === 'object') return original.reduce((sum, cell) => sum + cell.length, 0);
  return original?.length ?? 0;
}

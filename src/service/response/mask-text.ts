import { isDocumentedCode } from '../../contracts/token.ts';
import { ValuePieces, type Repeat, spellingsOf, textIn } from './value-pieces.ts';

/*
 * Text of the service may repeat what a request contained. What is kept of it is judged by its look (phone numbers and
 * opaque runs are masked whether or not they were sent), and by comparison with what was sent, in all its spellings.
 * Where there is doubt, nothing is kept.
 */

const MASK = '***';
const MAX_MESSAGE_LENGTH = 200;
/** Characters of a message that are looked at; the rest is not shown. */
const MAX_READ = 1_000;
/** Longest time for all texts of one answer; of those after it nothing is kept. */
const BUDGET_MS = 250;
const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;
const TRACE_ID = /^[A-Za-z0-9_.:/-]{1,128}$/;
/** A trace id of hexadecimal digits, such as a UUID: its runs of digits are no numbers. */
const HEX_ID = /^(?=[0-9a-f-]{16,128}$)[0-9a-f]{8,}(?:-[0-9a-f]+)*$/i;
/** Characters that a hexadecimal trace id has in common with what was sent only if it repeats it. */
const HEX_PART = 8;
/** Digits of a name that could be a phone number, also with separators. */
const NUMBER = /(?:[0-9][_.:/-]*){7}/;
/** Five digits or more, also with separators: phone numbers have many spellings. */
const DIGIT_RUN = /\p{Nd}(?:[^\p{L}\p{Nd}]{0,8}\p{Nd}){4,}/gu;
/** Opaque text of 40 characters or more: tokens and keys. */
const OPAQUE_RUN = /[A-Za-z0-9+/_=.~-]{40,}/g;
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu;
/** Shorter secrets would mask ordinary words. */
const MIN_SECRET_LENGTH = 6;
/** Letters of a secret in a row that repeat it: fewer are in ordinary words. */
const SECRET_PART = 10;
/** Fields of a notice whose values are no personal data: an answer that repeats them is of use. */
const PLAIN = new Set(['templateCode', 'scheduleType']);

/** Prepares keys and tokens, which must never appear; they are the same for many answers. */
export function piecesOfSecrets(secrets: readonly string[]): ValuePieces {
  const pieces = new ValuePieces();
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) pieces.add(secret, SECRET_PART);
  }
  return pieces;
}

/** Makes text of the service safe to keep: what it repeats of one request and of our secrets is masked. */
export class AnswerMask {
  readonly #secrets: readonly ValuePieces[];
  readonly #body: string | Uint8Array | undefined;
  readonly #knownCodes: ReadonlySet<string>;
  #values: ValuePieces | undefined | 'unread' = 'unread';
  #endsAt: number | undefined;

  /**
   * @param body of the request; read only where a text could repeat it. Default: none
   * @param knownCodes codes that decide about answers (ANSWER_RULES_FILE): kept whatever was sent
   */
  constructor(
    secrets: readonly ValuePieces[],
    body?: string | Uint8Array,
    knownCodes: ReadonlySet<string> = new Set(),
  ) {
    this.#secrets = secrets;
    this.#body = body;
    this.#knownCodes = knownCodes;
  }

  /**
   * A message as one line of at most 200 characters. Secrets, values that were sent (also in part), runs of digits
   * and long opaque runs are masked; all of it where it repeats a value in another spelling.
   *
   * @returns undefined if nothing is left, or if there is doubt
   */
  message(given: string): string | undefined {
    const read = given.length > MAX_READ ? given.slice(0, MAX_READ).replace(/\S+$/, '') : given;
    const text = read.normalize('NFKC');
    const repeats = this.#repeatsIn(text);
    if (repeats === undefined || this.#isOver()) return undefined;
    if (this.#isSpelledIn(text)) return MASK;
    let [shown, from] = ['', 0];
    for (const { from: start, to } of repeats) {
      if (start >= from) shown += text.slice(from, start) + MASK;
      from = Math.max(from, to);
    }
    const masked = (shown + text.slice(from))
      .replace(CONTROLS, ' ')
      .replace(OPAQUE_RUN, MASK)
      .replace(DIGIT_RUN, MASK)
      .trim();
    if (this.#repeats(digitsOf(masked))) return MASK;
    // By code points, so that no surrogate pair is cut.
    const points = Array.from(masked.slice(0, 2 * MAX_MESSAGE_LENGTH));
    const cut = points.slice(0, MAX_MESSAGE_LENGTH).join('');
    return cut === '' ? undefined : cut;
  }

  /** The service's own code; undefined if it does not look like one, or repeats something. */
  code(value: unknown): string | undefined {
    const text = nameOf(value, CODE);
    if (text === undefined || isDocumentedCode(text) || this.#knownCodes.has(text)) return text;
    return this.#isClean(text) ? text : undefined;
  }

  /** The service's trace id; undefined if it does not look like one, or repeats something. */
  traceId(value: unknown): string | undefined {
    const text = nameOf(value, TRACE_ID);
    if (text === undefined) return undefined;
    if (!HEX_ID.test(text)) return this.#isClean(text) ? text : undefined;
    const decoded = textIn(Buffer.from(text.replaceAll('-', ''), 'hex'));
    const isOf = (one: string, least: number) =>
      this.#repeatsIn(one.normalize('NFKC'))?.every(({ length }) => length < least) !== true;
    const spellings = decoded === undefined ? [] : [decoded, ...spellingsOf(decoded)];
    return isOf(text, HEX_PART) || spellings.some((one) => isOf(one, 1)) ? undefined : text;
  }

  #isClean(text: string): boolean {
    if (NUMBER.test(text) || this.#isOver()) return false;
    return !this.#repeats(text) && !this.#repeats(digitsOf(text)) && !this.#isSpelledIn(text);
  }

  #isSpelledIn(text: string): boolean {
    return [...spellingsOf(text)].some(
      (spelling) => this.#repeats(spelling) || this.#repeats(digitsOf(spelling)),
    );
  }

  /** Whether a text repeats a secret or a value; true also where that is not known. */
  #repeats(text: string): boolean {
    return this.#repeatsIn(text.normalize('NFKC'))?.length !== 0;
  }

  /** Undefined where what was sent is not known. */
  #repeatsIn(text: string): Repeat[] | undefined {
    const values = this.#sent();
    if (values === undefined) return undefined;
    return [values, ...this.#secrets]
      .flatMap((pieces) => pieces.repeatsIn(text))
      .sort((one, other) => one.from - other.from);
  }

  #sent(): ValuePieces | undefined {
    if (this.#values === 'unread') this.#values = this.#read();
    return this.#values;
  }

  #read(): ValuePieces | undefined {
    const body = this.#body;
    const pieces = new ValuePieces();
    if (body === undefined) return pieces;
    try {
      const left: unknown[] = [JSON.parse(typeof body === 'string' ? body : UTF8.decode(body))];
      while (left.length > 0) {
        if (this.#isOver()) return undefined;
        const value = left.pop();
        if (typeof value === 'string' || typeof value === 'number') pieces.add(String(value));
        else if (typeof value === 'object' && value !== null) {
          for (const [name, one] of Object.entries(value)) if (!PLAIN.has(name)) left.push(one);
        }
      }
      return pieces;
    } catch {
      return undefined;
    }
  }

  #isOver(): boolean {
    const now = performance.now();
    this.#endsAt ??= now + BUDGET_MS;
    return now > this.#endsAt;
  }
}

const UTF8 = new TextDecoder();

const nameOf = (value: unknown, shape: RegExp): string | undefined => {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && shape.test(text) ? text : undefined;
};

const digitsOf = (text: string): string => text.normalize('NFKC').replace(/[^0-9]/g, '');

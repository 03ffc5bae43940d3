import { isDocumentedCode } from '../../contracts/token.ts';
import { MASK, NUMBER_PART, NUMBER_TAIL, SentIndex } from './sent-index.ts';
import { valuesSent } from './values-sent.ts';
import { spellingsOf } from './spellings.ts';

/*
 * Text of the service may repeat what a request contained. What is kept of it is judged in two ways: by its
 * look, after removing separators (phone numbers and opaque runs are masked whether or not they were sent), and by
 * comparison with what was sent.
 */

const MAX_MESSAGE_LENGTH = 200;
/** Characters of a message that are looked at; the rest is not shown. */
const MAX_READ = 4_000;
const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;
const TRACE_ID = /^[A-Za-z0-9_.:/-]{1,128}$/;
const SEPARATORS = /[_.:/-]/g;
const [DIGIT_0, DIGIT_9] = [48, 57];
/** Parts of a trace id that are long enough to be compared. */
const PIECES = /[^_.:/-]{4,}/g;
/** A trace id of hexadecimal digits, such as a UUID: its runs of digits are no numbers. */
const HEX_ID = /^[0-9a-f]{8,}(?:-[0-9a-f]+)*$/i;
const MIN_HEX_ID_LENGTH = 16;
/** Five digits or more, also with separators: phone numbers have many spellings. */
const DIGIT_RUN = /\p{Nd}(?:[^\p{L}\p{Nd}]{0,8}\p{Nd}){4,}/gu;
/** Digits of a name that could be a phone number, also with separators. */
const NUMBER = /(?:[0-9][_.:/-]*){7}/;
/** Opaque text of 40 characters or more: tokens and keys. */
const OPAQUE_RUN = /[A-Za-z0-9+/_=.~-]{40,}/g;
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu;
/** Shorter secrets would mask ordinary words. */
const MIN_SECRET_LENGTH = 6;

/** Makes text of the service safe to keep: what it repeats of one request and of our secrets is masked. */
export class AnswerMask {
  readonly #secrets: readonly string[];
  readonly #body: string | Uint8Array | undefined;
  readonly #knownCodes: ReadonlySet<string>;
  #index: SentIndex | undefined | 'unread' = 'unread';
  /** By text: results per contact repeat the same few. */
  readonly #messages = new Map<string, string | undefined>();
  readonly #codes = new Map<string, string | undefined>();

  /**
   * @param secrets never to appear: keys and tokens
   * @param body of the request; read only where a text could repeat it. Default: none
   * @param knownCodes codes that decide about answers (ANSWER_RULES_FILE): kept whatever was sent
   */
  constructor(
    secrets: readonly string[],
    body?: string | Uint8Array,
    knownCodes: ReadonlySet<string> = new Set(),
  ) {
    this.#secrets = secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH);
    this.#body = body;
    this.#knownCodes = knownCodes;
  }

  /**
   * A message as one line of at most 200 characters, without secrets, values that were sent, runs of digits
   * and long opaque runs. Where it repeats a value in another spelling, all of it is masked.
   *
   * @returns undefined if nothing is left, or if what was sent cannot be read
   */
  message(text: string): string | undefined {
    return remembered(this.#messages, text, () => this.#masked(text));
  }

  #masked(text: string): string | undefined {
    const sent = this.#sent();
    if (sent === undefined) return undefined;
    let blanked = text.length > MAX_READ ? text.slice(0, MAX_READ).replace(/\S+$/, '') : text;
    for (const secret of this.#secrets) blanked = blanked.replaceAll(secret, MASK);
    // A short value can be a part of the spelling of another one, such as ab of %AB.
    const unblanked = spellingsOf(blanked);
    blanked = sent.blank(blanked);
    const masked = blanked
      .replace(CONTROLS, ' ')
      .replace(OPAQUE_RUN, MASK)
      .replace(DIGIT_RUN, MASK)
      .trim();
    if (sent.repeats([masked, ...unblanked, ...spellingsOf(blanked)])) return MASK;
    // By code points, so that no surrogate pair is cut.
    const points = Array.from(masked.slice(0, 2 * MAX_MESSAGE_LENGTH));
    const cut = points.slice(0, MAX_MESSAGE_LENGTH).join('');
    return cut === '' ? undefined : cut;
  }

  /** The service's own code; undefined if it does not look like one, or repeats something. */
  code(value: unknown): string | undefined {
    const text = this.#name(value, CODE);
    if (text === undefined || isDocumentedCode(text) || this.#knownCodes.has(text)) return text;
    return remembered(this.#codes, text, () => (this.#isClean(text) ? text : undefined));
  }

  #isClean(text: string): boolean {
    if (NUMBER.test(text)) return false;
    const sent = this.#sent();
    if (sent === undefined || sent.showsNumber(text)) return false;
    return sent.blank(text) === text && !sent.repeats([text, ...spellingsOf(text)]);
  }

  /**
   * The service's trace id; undefined if it does not look like one, or repeats something. Accepted answers have
   * one, too, so it is compared with the bytes of the body, which are not parsed.
   */
  traceId(value: unknown): string | undefined {
    const text = this.#name(value, TRACE_ID);
    if (text === undefined) return undefined;
    if (!isHexId(text)) {
      if (NUMBER.test(text)) return undefined;
      const pieces = [...(text.match(PIECES) ?? []), ...digitRuns(text, NUMBER_PART)];
      return pieces.some((piece) => this.#bodyContains(piece)) ? undefined : text;
    }
    const pieces = [text, ...digitRuns(text, NUMBER_TAIL)];
    return pieces.some((piece) => this.#bodyContains(piece)) ? undefined : text;
  }

  #name(value: unknown, shape: RegExp): string | undefined {
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string' || !shape.test(text)) return undefined;
    return this.#secrets.some((secret) => text.includes(secret)) ? undefined : text;
  }

  #sent(): SentIndex | undefined {
    if (this.#index === 'unread') {
      const values = this.#body === undefined ? [] : valuesSent(this.#body);
      this.#index = values && new SentIndex(values, this.#secrets);
    }
    return this.#index;
  }

  #bodyContains(piece: string): boolean {
    const body = this.#body;
    if (body === undefined) return false;
    if (typeof body === 'string') return body.includes(piece);
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(piece);
  }
}

const isHexId = (text: string): boolean => text.length >= MIN_HEX_ID_LENGTH && HEX_ID.test(text);

/** Every run of so many digits in a name, separators removed. */
function digitRuns(name: string, length: number): string[] {
  const text = name.replace(SEPARATORS, '');
  const runs: string[] = [];
  let digits = 0;
  for (let end = 1; end <= text.length; end++) {
    const code = text.charCodeAt(end - 1);
    digits = code >= DIGIT_0 && code <= DIGIT_9 ? digits + 1 : 0;
    if (digits >= length) runs.push(text.slice(end - length, end));
  }
  return runs;
}

function remembered<Value>(known: Map<string, Value>, text: string, find: () => Value): Value {
  const found = known.get(text);
  if (found !== undefined || known.has(text)) return found as Value;
  const value = find();
  known.set(text, value);
  return value;
}

import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, unzipSync } from 'node:zlib';
import { ANSWER_BYTES, headerOf, type AnswerHeaders, type WireFacts } from '../http/transport.ts';
import type { AnswerMask } from './mask-text.ts';

export type BodyKind = 'none' | 'json' | 'html' | 'text' | 'broken' | 'oversized';

/** Contents of an answer. The shape of error bodies is not shown (service-api), so any is tolerated. */
export interface ReadAnswer {
  readonly body: BodyKind;
  readonly code?: string;
  /** Masked ({@link AnswerMask}), at most 200 characters. */
  readonly message?: string;
  readonly traceId?: string;
  /** The field `success` of the JSON, if it has one. */
  readonly success?: boolean;
  /** The JSON value itself. It may contain secrets: do not pass it out of `src/service`. */
  readonly json?: unknown;
}

/** Which texts of an answer are read where it accepts. */
type WantedTexts = 'all' | 'trace-id' | 'none';

export type RawAnswer = Pick<WireFacts, 'headers' | 'chunks' | 'ending'>;

const UTF8_LENIENT = new TextDecoder('utf-8');

/**
 * Reads an answer, whatever it is: as JSON in UTF-8 whatever its headers say, because many servers send wrong ones,
 * then by its headers. A page counts as one even if it was cut off: it proves that not the API answered.
 *
 * The texts of a 2xx are read only where it does not accept everything: an answer that accepts may
 * repeat what was sent, and its text is of no use.
 *
 * @param mask makes code, message and traceId safe to keep; asked for where there are any
 * @param wanted texts of an answer that accepts: `all` where it has no status 2xx, or a rule of the operator looks at it
 */
export function readAnswer(
  raw: RawAnswer,
  mask: () => AnswerMask,
  wanted: WantedTexts = 'all',
): ReadAnswer {
  const [only] = raw.chunks;
  const bytes = raw.chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(raw.chunks);
  const isPage = () => PAGE_TYPE.test(headerOf(raw.headers, 'content-type') ?? '');

  if (raw.ending !== 'whole') {
    const start = UTF8_LENIENT.decode(bytes.subarray(0, 256)).trimStart();
    const page = start.startsWith('<') || (isPage() && !/^[[{]/.test(start));
    return { body: page ? 'html' : raw.ending };
  }

  // A byte order mark is trimmed away like a blank.
  const plain = isUtf8(bytes) ? bytes.toString().trim() : undefined;
  if (plain === '') return { body: 'none' };
  const json = plain === undefined ? undefined : parse(plain);
  if (json !== undefined) return bodyOf(json.value, mask, wanted);

  const decoded = decodeBody(bytes, raw.headers);
  if ('tooLong' in decoded) return { body: 'oversized' };
  if ('unreadable' in decoded) {
    return isPage() ? { body: 'html' } : withMessage('broken', mask().message(decoded.unreadable));
  }
  const text = decoded.text.trim();
  if (text === '') return { body: 'none' };
  if (text.startsWith('<')) return { body: 'html' };
  const named = text === plain ? undefined : parse(text);
  if (named !== undefined) return bodyOf(named.value, mask, wanted);
  return withMessage(
    isPage() ? 'html' : 'text',
    wanted === 'all' ? mask().message(text) : undefined,
  );
}

const PAGE_TYPE = /^\s*(text\/html|application\/xhtml\+xml)\b/i;

const withMessage = (body: BodyKind, message: string | undefined): ReadAnswer => ({
  body,
  ...(message === undefined ? {} : { message }),
});

/** Boxed, because `null` is JSON too. */
function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

type Writable<Read> = { -readonly [Field in keyof Read]: Read[Field] };

const TRACE_IDS = ['traceId', 'trace_id', 'requestId'];
const CODES = ['code', 'errorCode', 'error_code'];
const MESSAGES = ['message', 'errorMessage', 'error_message'];

/**
 * Looks for code, message, traceId and success where services of this kind put them.
 *
 * @param wanted other texts are read only if `success` is false
 */
function bodyOf(json: unknown, makeMask: () => AnswerMask, wanted: WantedTexts): ReadAnswer {
  // Not by spreading, which costs more than reading the fields.
  const fields: Writable<ReadAnswer> = { body: 'json', json };
  const success = readFlag(own(json, 'success'));
  if (success !== undefined) fields.success = success;
  const mayAccept = wanted !== 'all' && success !== false;
  if (mayAccept && wanted === 'none') return fields;
  const mask = makeMask();
  const traceId = first(placesOf(json), TRACE_IDS, (value) => mask.traceId(value));
  if (traceId !== undefined) fields.traceId = traceId;
  if (mayAccept) return fields;

  const code =
    first(placesOf(json), CODES, (value) => mask.code(value)) ?? mask.code(own(json, 'error'));
  const places = [...placesOf(json), { message: own(json, 'error') }];
  const message = first(places, MESSAGES, (value) =>
    typeof value === 'string' ? mask.message(value) : undefined,
  );
  if (code !== undefined) fields.code = code;
  if (message !== undefined) fields.message = message;
  return fields;
}

function placesOf(json: unknown): readonly unknown[] {
  const errors = own(json, 'errors');
  return [json, own(json, 'error'), own(json, 'data'), Array.isArray(errors) ? errors[0] : errors];
}

/** The first value that `read` accepts, by place, then by name. */
function first(
  places: readonly unknown[],
  names: readonly string[],
  read: (value: unknown) => string | undefined,
): string | undefined {
  for (const place of places) {
    if (typeof place !== 'object' || place === null) continue;
    for (const name of names) {
      const value = own(place, name);
      const found = value === undefined ? undefined : read(value);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function readFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  const word = value.toLowerCase();
  if (word === 'true') return true;
  return word === 'false' ? false : undefined;
}

/** An own field of a JSON object; never one that the prototype lends. */
export function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** The text of a body; `unreadable` names the header that it cannot be read by. */
type DecodedBody =
  { readonly text: string } | { readonly unreadable: string } | { readonly tooLong: true };

const DECOMPRESS = new Map([
  ['gzip', unzipSync],
  ['x-gzip', unzipSync],
  ['deflate', unzipSync],
  ['br', brotliDecompressSync],
]);
/** Names that servers have for the charset of Korean Windows. */
const KOREAN = /^(?:x-windows-|windows-|ms_?|cp_?|ibm-?)949$|^uhc$/;

/**
 * The text of a body that is not JSON in UTF-8: decompressed, then in the charset that the answer names, then in UTF-8.
 * Headers that name what the body is not, or nothing, are passed over.
 */
function decodeBody(bytes: Buffer, headers: AnswerHeaders | undefined): DecodedBody {
  const encoding = (headerOf(headers, 'content-encoding') ?? '').trim().toLowerCase();
  const decompress = DECOMPRESS.get(encoding);
  if (decompress !== undefined) {
    try {
      return decodeText(decompress(bytes, { maxOutputLength: ANSWER_BYTES }), headers);
    } catch (error) {
      if (error instanceof RangeError) return { tooLong: true };
    }
  }
  const found = decodeText(bytes, headers);
  if ('text' in found || encoding === '' || encoding === 'identity') return found;
  return { unreadable: `content-encoding: ${encoding}` };
}

function decodeText(bytes: Buffer, headers: AnswerHeaders | undefined): DecodedBody {
  const type = headerOf(headers, 'content-type') ?? '';
  const charset = /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  try {
    const label = KOREAN.test(charset) ? 'euc-kr' : charset;
    return { text: new TextDecoder(label, { fatal: true }).decode(bytes) };
  } catch {
    return isUtf8(bytes)
      ? { text: bytes.toString() }
      : { unreadable: `content-type: charset=${charset}` };
  }
}

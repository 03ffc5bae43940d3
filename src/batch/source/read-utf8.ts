import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { gunzipped } from './gunzip.ts';

/**
 * Encodings of lists. `euc-kr` includes CP949. A byte order mark decides, whatever the option is: so UTF-16 is
 * detected, and the file of refused rows of an EUC-KR list, which is UTF-8, is read with the options of its list.
 */
export const ENCODINGS = ['utf-8', 'euc-kr'] as const;

/** Name of an encoding. */
export type Encoding = (typeof ENCODINGS)[number];
type SourceEncoding = Encoding | 'utf-16le' | 'utf-16be';

/** First bytes of files that are not lists. */
const FOREIGN: readonly { readonly magic: Buffer; readonly what: string }[] = [
  {
    magic: Buffer.from('PK\u0003\u0004'),
    what: 'a workbook (XLSX) or another zip file: save it as CSV UTF-8 (in a spreadsheet: File, Save As)',
  },
  {
    magic: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
    what: 'an old workbook (XLS): save it as CSV UTF-8 (in a spreadsheet: File, Save As)',
  },
  { magic: Buffer.from('%PDF'), what: 'a PDF file: export the list as CSV' },
  // Before the mark of UTF-16, which is the first half of the first one.
  { magic: Buffer.from([0xff, 0xfe, 0, 0]), what: 'text in UTF-32: save it as UTF-8' },
  { magic: Buffer.from([0, 0, 0xfe, 0xff]), what: 'text in UTF-32: save it as UTF-8' },
];
const GZIP = Buffer.from([0x1f, 0x8b]);
/** Of UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';
const MARKS: readonly { readonly mark: Buffer; readonly encoding: SourceEncoding }[] = [
  { mark: Buffer.from(BYTE_ORDER_MARK), encoding: 'utf-8' },
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
];
const LONGEST_MAGIC = 4;
/** A file may be compressed twice by mistake. There are files that contain themselves, without an end. */
const MAX_LAYERS = 2;
const LF = 0x0a;

/**
 * The text of a list as UTF-8, in pieces that end with a complete character: decompressed if it is
 * gzip, and without its byte order mark. UTF-8 input is only validated. A piece is read when it is
 * requested.
 *
 * @throws NoticeQueueError SOURCE_INVALID with the line of a byte that is not valid in the encoding, and
 * for files that are not text
 */
export async function* readUtf8(
  bytes: AsyncIterable<Buffer>,
  encoding: Encoding,
): AsyncGenerator<Buffer, void> {
  yield* readLayer(bytes, encoding, 0);
}

async function* readLayer(
  bytes: AsyncIterable<Buffer>,
  encoding: Encoding,
  layers: number,
): AsyncGenerator<Buffer, void> {
  const { head, after } = await peek(bytes);
  const foreign = FOREIGN.find(({ magic }) => head.subarray(0, magic.length).equals(magic));
  if (foreign !== undefined) throw unreadable(`It is ${foreign.what}.`);
  if (head.subarray(0, 2).equals(GZIP)) {
    if (layers === MAX_LAYERS) throw unreadable('It is compressed several times: unpack it first.');
    yield* readLayer(gunzipped(after(0)), encoding, layers + 1);
    return;
  }
  if (isUnmarkedUtf16(head)) {
    throw unreadable('It is text in UTF-16 without a byte order mark: save it as UTF-8.');
  }
  const marked = MARKS.find(({ mark }) => head.subarray(0, mark.length).equals(mark));
  const isMarked = marked !== undefined;
  yield* decode(after(marked?.mark.length ?? 0), marked?.encoding ?? encoding, isMarked);
}

/** Whether it begins with two ASCII characters in UTF-16: in another encoding these would be control characters. */
function isUnmarkedUtf16(head: Buffer): boolean {
  const zeros = Array.from(head.subarray(0, LONGEST_MAGIC), (byte) => (byte === 0 ? '0' : '1'));
  return ['1010', '0101'].includes(zeros.join(''));
}

/** The first bytes, and a function that returns all after so many. */
async function peek(bytes: AsyncIterable<Buffer>): Promise<{
  readonly head: Buffer;
  readonly after: (count: number) => AsyncIterable<Buffer>;
}> {
  const pieces = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < LONGEST_MAGIC) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* after(count: number) {
    try {
      if (head.length > count) yield head.subarray(count);
      for (;;) {
        const next = await pieces.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
  return { head, after };
}

/** Validates text and makes UTF-8 of it. */
async function* decode(
  bytes: AsyncIterable<Buffer>,
  encoding: SourceEncoding,
  isMarked: boolean,
): AsyncGenerator<Buffer, void> {
  let place = START;
  for await (const piece of wholeCharacters(bytes, encoding)) {
    const text = utf8Of(piece, encoding);
    if (text === undefined) throw wrongEncoding(piece, place, encoding, isMarked);
    place = positionAfter(place, text);
    yield text;
  }
}

/** A character that is incomplete at the end of a piece moves to the next one. */
async function* wholeCharacters(
  bytes: AsyncIterable<Buffer>,
  encoding: SourceEncoding,
): AsyncGenerator<Buffer, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const end = all.length - INCOMPLETE_BYTES[encoding](all);
    rest = all.subarray(end);
    if (end > 0) yield all.subarray(0, end);
  }
  if (rest.length > 0) yield rest;
}

/** Number of bytes at the end that belong to an incomplete character, of bytes that start with a character. */
const INCOMPLETE_BYTES: Readonly<Record<SourceEncoding, (bytes: Buffer) => number>> = {
  'utf-8': (bytes) => {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back] ?? 0;
      if (byte < 0x80) return 0;
      if (byte < 0xc0) continue;
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < length ? back : 0;
    }
    return 0;
  },
  // A byte below 0x81 ends a character. After it come pairs: the last byte is the first half of one or not.
  'euc-kr': (bytes) => {
    let at = bytes.length;
    while (at > 0 && (bytes[at - 1] ?? 0) > 0x80) at--;
    return (bytes.length - at) % 2;
  },
  'utf-16le': (bytes) => incompleteUtf16(bytes, 1),
  'utf-16be': (bytes) => incompleteUtf16(bytes, 2),
};

/** @param back how far before the end of a unit its upper byte is */
function incompleteUtf16(bytes: Buffer, back: number): number {
  const odd = bytes.length % 2;
  const isHighHalf = ((bytes[bytes.length - odd - back] ?? 0) & 0xfc) === 0xd8;
  return isHighHalf ? odd + 2 : odd;
}

/** Undefined if a byte is not valid. */
function utf8Of(piece: Buffer, encoding: SourceEncoding): Buffer | undefined {
  if (encoding === 'utf-8') return isUtf8(piece) ? piece : undefined;
  try {
    return Buffer.from(decoderOf(encoding)(piece, false));
  } catch {
    return undefined;
  }
}

/** A decoder that throws for a byte that is not valid in the encoding. */
function decoderOf(encoding: SourceEncoding): (piece: Buffer, more: boolean) => string {
  if (encoding !== 'euc-kr') {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    return (piece, more) => decoder.decode(piece, { stream: more });
  }
  // Node's own decoder of this name lacks the 8,822 syllables that CP949 adds to EUC-KR.
  const decoder = iconv.getDecoder('cp949');
  return (piece, more) => {
    const text = decoder.write(piece) + (more ? '' : (decoder.end() ?? ''));
    // CP949 has no U+FFFD: the decoder returns it for an invalid byte.
    if (text.includes('\ufffd')) throw new TypeError('not CP949');
    return text;
  };
}

/** A position in a list, for error messages; both from 1. */
interface FilePosition {
  readonly line: number;
  readonly character: number;
}
const START: FilePosition = { line: 1, character: 1 };

/** The position after a text that starts at the given one. */
function positionAfter({ line, character }: FilePosition, text: Buffer): FilePosition {
  let lines = 0;
  for (let at = 0; at < text.length; at++) if (text[at] === LF) lines++;
  const lastLine = text.lastIndexOf(LF) + 1;
  let characters = lines === 0 ? character : 1;
  // Continuation bytes do not count as characters.
  for (let at = lastLine; at < text.length; at++)
    if (((text[at] ?? 0) & 0xc0) !== 0x80) characters++;
  return { line: line + lines, character: characters };
}

/** The error of an invalid byte; finds its position by decoding the bytes one by one. */
function wrongEncoding(
  piece: Buffer,
  start: FilePosition,
  encoding: SourceEncoding,
  isMarked: boolean,
): NoticeQueueError {
  const read = decoderOf(encoding);
  let { line, character } = start;
  for (let at = 0; at < piece.length; at++) {
    try {
      for (const one of read(piece.subarray(at, at + 1), true)) {
        character = one === '\n' ? 1 : character + 1;
        if (one === '\n') line++;
      }
    } catch {
      break;
    }
  }
  const other = encoding === 'euc-kr' ? 'utf-8' : 'euc-kr';
  const advice = isMarked
    ? 'The list begins with the byte order mark of that encoding: save the whole list in it, or as UTF-8.'
    : `Is the encoding ${other}? Then add --encoding ${other} (in a program: the option encoding).`;
  return unreadable(
    `Line ${line}, character ${character}: a byte is not valid ${encoding.toUpperCase()}. ${advice}`,
  );
}

function unreadable(what: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', what);
}

import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { BYTE_ORDER_MARK } from '../failures/csv-line.ts';
import { gunzipped } from './gunzip.ts';
import { invalidList } from './describe-columns.ts';

/**
 * Encodings of lists. `euc-kr` includes CP949. A byte order mark decides, whatever the option is: so UTF-16 is
 * detected, and the file of refused rows of an EUC-KR list, which is UTF-8, is read with the options of its list.
 */
export const ENCODINGS = ['utf-8', 'euc-kr'] as const;

export type Encoding = (typeof ENCODINGS)[number];
type SourceEncoding = Encoding | 'utf-16le' | 'utf-16be';

/** First bytes of files that are not lists. */
const FOREIGN: readonly { readonly magic: Buffer | RegExp; readonly what: string }[] = [
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
  {
    magic: /^(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|table|meta|\?xml)\b/i,
    what: 'a page (HTML or XML), perhaps with a table: save it as CSV UTF-8 (in a spreadsheet: File, Save As)',
  },
  {
    magic: /^(?:\xef\xbb\xbf)?\s*\[\s*[[{"]/,
    what: 'a JSON array: write it as NDJSON, each object on a line of its own, without brackets and commas',
  },
];
const GZIP = Buffer.from([0x1f, 0x8b]);
const MARKS: readonly { readonly mark: Buffer; readonly encoding: SourceEncoding }[] = [
  { mark: Buffer.from(BYTE_ORDER_MARK), encoding: 'utf-8' },
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
];
const LONGEST_MAGIC = 64;
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
  const start = head.toString('latin1', 0, LONGEST_MAGIC);
  const foreign = FOREIGN.find(({ magic }) =>
    magic instanceof RegExp ? magic.test(start) : head.subarray(0, magic.length).equals(magic),
  );
  if (foreign !== undefined) throw invalidList(`It is ${foreign.what}.`);
  if (head.subarray(0, 2).equals(GZIP)) {
    if (layers === MAX_LAYERS)
      throw invalidList('It is compressed several times: unpack it first.');
    yield* readLayer(gunzipped(after(0)), encoding, layers + 1);
    return;
  }
  if (isUnmarkedUtf16(head)) throw unmarkedUtf16();
  const marked = MARKS.find(({ mark }) => head.subarray(0, mark.length).equals(mark));
  const isMarked = marked !== undefined;
  yield* decode(after(marked?.mark.length ?? 0), marked?.encoding ?? encoding, isMarked);
}

/** Whether it begins with two ASCII characters in UTF-16: in another encoding these would be control characters. */
function isUnmarkedUtf16(head: Buffer): boolean {
  const zeros = Array.from(head.subarray(0, 4), (byte) => (byte === 0 ? '0' : '1'));
  return ['1010', '0101'].includes(zeros.join(''));
}

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

/** Validates text and makes UTF-8 of it, in pieces that end with a complete character. */
async function* decode(
  bytes: AsyncIterable<Buffer>,
  encoding: SourceEncoding,
  isMarked: boolean,
): AsyncGenerator<Buffer, void> {
  let line = 1;
  let raw: Buffer = Buffer.alloc(0);
  const pieces = (async function* () {
    for await (raw of bytes) yield raw;
  })();
  for await (const piece of encoding === 'utf-8' ? wholeUtf8(pieces) : decoded(pieces, encoding)) {
    if (typeof piece === 'string' ? piece.includes(INVALID) : !isUtf8(piece)) {
      const [before = ''] = piece.toString().split(INVALID);
      const found = `Line ${line + before.split('\n').length - 1}: a byte is not valid ${encoding.toUpperCase()}.`;
      // What is left at the end, and is no character.
      const isCut =
        typeof piece === 'string' ? piece === INVALID : incompleteBytes(piece) === piece.length;
      if (isCut) {
        throw invalidList(
          `${found} The list ends within a character, as a file does that was cut off.`,
        );
      }
      throw wrongEncoding(found, encoding, isMarked, raw);
    }
    const text = typeof piece === 'string' ? Buffer.from(piece) : piece;
    for (let at = 0; at < text.length; at++) if (text[at] === LF) line++;
    if (text.length > 0) yield text;
  }
}

/** A character that is incomplete at the end of a piece moves to the next one. */
async function* wholeUtf8(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const end = all.length - incompleteBytes(all);
    rest = all.subarray(end);
    yield all.subarray(0, end);
  }
  yield rest;
}

/** Number of bytes at the end that belong to an incomplete character, of bytes that start with a character. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? back : 0;
  }
  return 0;
}

/** What a decoder returns for an invalid byte. CP949 does not have it; in UTF-16 it says that text was lost before. */
const INVALID = '\ufffd';

/** Text of another encoding. A decoder keeps an incomplete character for its next piece. */
async function* decoded(
  bytes: AsyncIterable<Buffer>,
  encoding: SourceEncoding,
): AsyncGenerator<string, void> {
  if (encoding === 'euc-kr') {
    // Node's own decoder of this name lacks the 8,822 syllables that CP949 adds to EUC-KR.
    const decoder = iconv.getDecoder('cp949');
    for await (const piece of bytes) yield decoder.write(piece);
    yield decoder.end() ?? '';
    return;
  }
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  for await (const piece of bytes) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

function wrongEncoding(found: string, encoding: SourceEncoding, isMarked: boolean, raw: Buffer) {
  if (isMarked) {
    return invalidList(
      `${found} The list begins with the byte order mark of that encoding: save the whole list in it, or as UTF-8.`,
    );
  }
  if (raw.includes(0)) return unmarkedUtf16();
  const other = encoding === 'euc-kr' ? 'utf-8' : 'euc-kr';
  const isOther =
    other === 'utf-8'
      ? isUtf8(raw.subarray(0, raw.length - incompleteBytes(raw)))
      : !iconv.getDecoder('cp949').write(raw).includes(INVALID);
  return invalidList(
    isOther
      ? `${found} Is the encoding ${other}? Then add --encoding ${other} (in a program: the option encoding).`
      : found,
  );
}

const unmarkedUtf16 = () =>
  invalidList('It is text in UTF-16 without a byte order mark: save it as UTF-8.');

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import iconv from 'iconv-lite';
import { NoticeQueueError } from '../errors.ts';

/** Encodings of lists. `euc-kr` is CP949, too; UTF-16 is known by its byte order mark. */
export const ENCODINGS = ['utf-8', 'euc-kr'] as const;

/** Name of an encoding. */
export type Encoding = (typeof ENCODINGS)[number];

/** Bytes that a list cannot begin with, and what they are. */
const FOREIGN: readonly { readonly magic: Buffer; readonly what: string }[] = [
  {
    magic: Buffer.from('PK\u0003\u0004'),
    what: 'a workbook (XLSX) or another zip file: save it as CSV',
  },
  {
    magic: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
    what: 'an old workbook (XLS): save it as CSV',
  },
  { magic: Buffer.from('%PDF'), what: 'a PDF file: export the list as CSV' },
];
const GZIP = Buffer.from([0x1f, 0x8b]);
const UTF_16LE = Buffer.from([0xff, 0xfe]);
const LONGEST_MAGIC = 4;

/**
 * The text of a list: unpacked where it is gzip, decoded, without its byte order mark. A piece is
 * read when it is asked for.
 *
 * @throws NoticeQueueError SOURCE_INVALID with the line, where a byte is not of the encoding, and
 * for files that are no text
 */
export async function* readText(
  bytes: AsyncIterable<Buffer>,
  encoding: Encoding,
): AsyncGenerator<string, void> {
  const { head, all } = await peek(bytes);
  const foreign = FOREIGN.find(({ magic }) => head.subarray(0, magic.length).equals(magic));
  if (foreign !== undefined) throw unreadable(`It is ${foreign.what}.`);
  if (head.subarray(0, 2).equals(GZIP)) {
    yield* readText(unpack(all), encoding);
    return;
  }
  yield* decode(all, head.subarray(0, 2).equals(UTF_16LE) ? 'utf-16le' : encoding);
}

async function peek(
  bytes: AsyncIterable<Buffer>,
): Promise<{ readonly head: Buffer; readonly all: AsyncIterable<Buffer> }> {
  const pieces = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < LONGEST_MAGIC) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* all() {
    try {
      if (head.length > 0) yield head;
      for (;;) {
        const next = await pieces.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  }
  return { head, all: all() };
}

async function* unpack(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  let failure: unknown;
  // What the list itself fails with comes back as it is; the rest is a damaged file.
  const fed = pipeline(Readable.from(bytes), gunzip).catch((error: unknown) => {
    failure = error;
  });
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch (error) {
    await fed;
    if (failure instanceof NoticeQueueError) throw failure;
    if (error instanceof NoticeQueueError) throw error;
    throw unreadable('It is a gzip file that is damaged or cut off.');
  }
}

async function* decode(
  bytes: AsyncIterable<Buffer>,
  encoding: Encoding | 'utf-16le',
): AsyncGenerator<string, void> {
  const read = decoderOf(encoding);
  let line = 1;
  const text = (piece: Buffer, more: boolean) => {
    try {
      return read(piece, more);
    } catch {
      throw wrongEncoding(piece, line, encoding);
    }
  };
  for await (const piece of bytes) {
    const decoded = text(piece, true);
    line += linesIn(decoded);
    if (decoded !== '') yield decoded;
  }
  text(Buffer.alloc(0), false);
}

/** A decoder that throws where a byte is not of the encoding. */
function decoderOf(encoding: Encoding | 'utf-16le'): (piece: Buffer, more: boolean) => string {
  if (encoding !== 'euc-kr') {
    const decoder = new TextDecoder(encoding, { fatal: true });
    return (piece, more) => decoder.decode(piece, { stream: more });
  }
  // Node's own decoder of this name lacks the 8,822 syllables that CP949 adds to EUC-KR.
  const decoder = iconv.getDecoder('cp949');
  return (piece, more) => {
    const text = decoder.write(piece) + (more ? '' : (decoder.end() ?? ''));
    // CP949 has no such character: it stands for a byte that could not be read.
    if (text.includes('\ufffd')) throw new TypeError('not CP949');
    return text;
  };
}

function linesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Looks for the place by feeding the bytes one by one. A character cut in two before is let be. */
function wrongEncoding(
  piece: Buffer,
  lineOfPiece: number,
  encoding: Encoding | 'utf-16le',
): NoticeQueueError {
  const read = decoderOf(encoding);
  let start = 0;
  if (encoding === 'utf-8') while (start < 3 && ((piece[start] ?? 0) & 0xc0) === 0x80) start++;
  let line = lineOfPiece;
  let column = 1;
  for (let at = start; at < piece.length; at++) {
    try {
      for (const character of read(piece.subarray(at, at + 1), true)) {
        column = character === '\n' ? 1 : column + 1;
        if (character === '\n') line++;
      }
    } catch {
      break;
    }
  }
  const other = encoding === 'euc-kr' ? 'utf-8' : 'euc-kr';
  return unreadable(
    `Line ${line}, character ${column}: a byte there is not ${encoding.toUpperCase()}. Is the encoding ${other}?`,
  );
}

function unreadable(what: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', what);
}

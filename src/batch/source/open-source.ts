import { createHash, type Hash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Contact } from '../../contracts/notice.ts';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { CsvStructure } from './csv-structure.ts';
import type { CheckedImportOptions } from '../import/import-options.ts';
import { readContacts, readNdjson } from './read-contacts.ts';
import { readCsv } from './read-csv.ts';
import { readUtf8 } from './read-utf8.ts';
import { FieldChoice } from './sent-columns.ts';
import type { SourceReader } from './source-row.ts';

/**
 * Where a list of contacts comes from: the path of a CSV or NDJSON file, a readable stream of its bytes
 * (either may be gzipped), or an iterable of contacts.
 */
export type ImportSource = string | Readable | Iterable<Contact> | AsyncIterable<Contact>;

/** An open list. */
export interface OpenSource {
  /** Path of the list, if it is a file. */
  readonly file: string | undefined;
  /** Size of the file; undefined if the list is not a file. */
  readonly totalBytes: number | undefined;
  /** Whether {@link read} can be called again. */
  readonly canReread: boolean;
  /** Bytes read so far, before decompression; 0 for an iterable. */
  bytesRead(): number;
  /** Starts reading the rows, from the beginning. @throws NoticeQueueError SOURCE_INVALID */
  read(): Promise<SourceReader>;
  /** Call after the last row. @throws NoticeQueueError SOURCE_INVALID if the file has changed */
  verify(): Promise<void>;
  close(): Promise<void>;
}

type SourceOptions = Pick<
  CheckedImportOptions,
  'format' | 'delimiter' | 'encoding' | 'header' | 'map' | 'passThrough' | 'signal'
>;

const READ_BYTES = 128 * 1024;

/**
 * Opens a list. A file is read twice: first to check its encoding and quotes and to hash its content, so
 * that nothing of an invalid file is queued; then for its rows.
 *
 * @throws NoticeQueueError SOURCE_INVALID if it cannot be opened or read
 * @throws InputError NOTICE_INVALID if `source` is none of {@link ImportSource}
 */
export async function openSource(
  source: ImportSource,
  options: SourceOptions,
): Promise<OpenSource> {
  if (typeof source === 'string') return openFile(source, options);
  if (source instanceof Readable && !source.readableObjectMode) return openStream(source, options);
  if (typeof source === 'object' && source !== null) {
    const isList = Symbol.asyncIterator in source || Symbol.iterator in source;
    if (isList) return openContacts(source as Iterable<Contact> | AsyncIterable<Contact>, options);
  }
  throw new InputError('NOTICE_INVALID', [
    {
      field: 'source',
      problem: 'expected the path of a file, a stream of bytes, or an iterable of contacts',
    },
  ]);
}

async function openFile(name: string, options: SourceOptions): Promise<OpenSource> {
  const file = await openForReading(name);
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) {
      const what = before.isDirectory()
        ? 'a directory'
        : 'not a regular file; pass it as a stream (to the command: on standard input, as -)';
      throw new NoticeQueueError('SOURCE_INVALID', `${name} is ${what}.`);
    }
    if (before.size === 0n) throw new NoticeQueueError('SOURCE_INVALID', `${name} is empty.`);
    const size = Number(before.size);
    const format = options.format ?? formatByName(name);
    const first = createHash('sha256');
    const kind = await checkFile(bytesOf(file, size, first, options.signal), format, options);
    const digest = first.digest('base64url');
    let again = createHash('sha256');
    let bytesRead = 0;
    const counted = async function* () {
      again = createHash('sha256');
      bytesRead = 0;
      for await (const piece of bytesOf(file, size, again, options.signal)) {
        bytesRead += piece.length;
        yield piece;
      }
    };
    return {
      file: name,
      totalBytes: size,
      canReread: true,
      bytesRead: () => bytesRead,
      read: () => readAs(kind, readUtf8(counted(), options.encoding), options),
      verify: async () => {
        const after = await file.stat({ bigint: true });
        const same = after.size === before.size && after.mtimeNs === before.mtimeNs;
        if (same && again.digest('base64url') === digest) return;
        throw new NoticeQueueError('SOURCE_INVALID', `${name} changed during the import.`);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openForReading(name: string): Promise<FileHandle> {
  try {
    return await open(name, 'r');
  } catch (error) {
    const { code } = error as { code?: unknown };
    const why = code === 'ENOENT' ? 'there is no such file' : String(code);
    throw new NoticeQueueError('SOURCE_INVALID', `${name} cannot be opened: ${why}.`);
  }
}

/** The first `size` bytes of a file, which are also hashed; bytes appended meanwhile are not read. */
async function* bytesOf(
  file: FileHandle,
  size: number,
  hash: Hash,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  let position = 0;
  for (;;) {
    if (signal?.aborted === true) throw new NoticeQueueError('IMPORT_STOPPED');
    const piece = Buffer.allocUnsafe(READ_BYTES);
    const length = Math.min(READ_BYTES, size - position);
    const { bytesRead } = await file.read(piece, 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const bytes = piece.subarray(0, bytesRead);
    hash.update(bytes);
    yield bytes;
  }
}

/** Checks the encoding and the quotes of a whole file. @returns its format */
async function checkFile(
  bytes: AsyncIterable<Buffer>,
  format: Format | undefined,
  { encoding, delimiter }: SourceOptions,
): Promise<Format> {
  const structure = new CsvStructure(delimiter);
  let kind = format;
  for await (const piece of readUtf8(bytes, encoding)) {
    kind ??= formatByText(piece);
    if (kind === 'csv') structure.write(piece);
  }
  structure.end();
  return kind ?? 'csv';
}

function openStream(stream: Readable, options: SourceOptions): OpenSource {
  let bytesRead = 0;
  const bytes = async function* () {
    try {
      for await (const piece of stream) {
        const chunk = typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer);
        bytesRead += chunk.length;
        yield chunk;
      }
    } catch {
      throw options.signal?.aborted === true
        ? new NoticeQueueError('IMPORT_STOPPED')
        : new NoticeQueueError('SOURCE_INVALID', 'The stream of the list failed before its end.');
    }
  };
  const onAbort = () => stream.destroy(new Error('stopped'));
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted === true) onAbort();
  return {
    file: undefined,
    totalBytes: undefined,
    canReread: false,
    bytesRead: () => bytesRead,
    read: async () => {
      const text = readUtf8(bytes(), options.encoding);
      const first = await text.next();
      const beginning = first.done === true ? Buffer.alloc(0) : first.value;
      const all = async function* () {
        yield beginning;
        yield* text;
      };
      return readAs(options.format ?? formatByText(beginning), all(), options);
    },
    verify: () => Promise.resolve(),
    close: () => {
      options.signal?.removeEventListener('abort', onAbort);
      stream.destroy();
      return Promise.resolve();
    },
  };
}

function openContacts(
  contacts: Iterable<Contact> | AsyncIterable<Contact>,
  { map, passThrough }: SourceOptions,
): OpenSource {
  return {
    file: undefined,
    totalBytes: undefined,
    canReread: Array.isArray(contacts),
    bytesRead: () => 0,
    read: () => Promise.resolve(readContacts(contacts, new FieldChoice(map, passThrough))),
    verify: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

type Format = 'csv' | 'ndjson';

function formatByName(name: string): Format | undefined {
  const ending = /\.(csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined || ending === 'txt') return undefined;
  return ending === 'ndjson' || ending === 'jsonl' ? 'ndjson' : 'csv';
}

function formatByText(beginning: Buffer): Format {
  return /^\s*\{/.test(beginning.toString()) ? 'ndjson' : 'csv';
}

function readAs(
  format: Format,
  text: AsyncIterable<Buffer>,
  options: SourceOptions,
): Promise<SourceReader> {
  if (format === 'csv') return readCsv(text, options);
  return Promise.resolve(readNdjson(text, new FieldChoice(options.map, options.passThrough)));
}

import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import type { CsvOptions } from './column-map.ts';
import { readContacts, readNdjson } from './read-contacts.ts';
import { readCsv } from './read-csv.ts';
import { readUtf8, type Encoding } from './read-utf8.ts';
import { FieldChoice } from './sent-columns.ts';
import { type SourceReader } from './source-row.ts';
import { invalidList } from './describe-columns.ts';

/**
 * Where a list of contacts comes from: the path of a CSV or NDJSON file, a readable stream of its bytes
 * (either may be gzipped), or an iterable of contacts.
 */
export type ImportSource = string | Readable | Iterable<object> | AsyncIterable<object>;

export interface OpenSource {
  /** Path of the list, if it is a file. */
  readonly file?: string;
  /** Size of the file; undefined if the list is not a file. */
  readonly totalBytes?: number;
  /** Whether {@link read} can be called again. */
  readonly canReread: boolean;
  /** Bytes read so far, before decompression; 0 for an iterable. */
  bytesRead(): number;
  /** Starts reading the rows, from the beginning. @throws NoticeQueueError SOURCE_INVALID */
  read(): Promise<SourceReader>;
  /** Call after the last row. @throws NoticeQueueError SOURCE_INVALID if the file was written meanwhile */
  verify?(): Promise<void>;
  close?(): Promise<void>;
}

interface SourceOptions extends CsvOptions {
  /** By default by the name of the file, or else by the content. */
  readonly format?: Format | undefined;
  readonly encoding: Encoding;
  readonly signal?: AbortSignal | undefined;
}

const READ_BYTES = 128 * 1024;

/**
 * Opens a list. Nothing of it is read yet.
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
    if (isList) return openContacts(source as Iterable<object> | AsyncIterable<object>, options);
  }
  throw new InputError('NOTICE_INVALID', [
    {
      field: 'source',
      problem: 'expected the path of a file, a stream of bytes, or an iterable of contacts',
    },
  ]);
}

async function openFile(name: string, options: SourceOptions): Promise<OpenSource> {
  const { bytes, ...file } = await openBytes(name, options.signal);
  const format = options.format ?? formatByName(name);
  return { ...file, canReread: true, read: () => readAs(format, bytes(), options, name) };
}

/** @throws NoticeQueueError SOURCE_INVALID for one that cannot be opened, is empty or is no regular file */
export async function openBytes(name: string, signal?: AbortSignal) {
  const file = await openForReading(name);
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) {
      const what = before.isDirectory()
        ? 'a directory'
        : 'not a regular file; pass it as a stream (to an import command: on standard input, as -)';
      throw invalidList(`${name} is ${what}.`);
    }
    if (before.size === 0n) throw invalidList(`${name} is empty.`);
    const size = Number(before.size);
    let bytesRead = 0;
    const bytes = async function* () {
      bytesRead = 0;
      for await (const piece of bytesOf(file, size, signal)) {
        bytesRead += piece.length;
        yield piece;
      }
    };
    return {
      file: name,
      totalBytes: size,
      bytesRead: () => bytesRead,
      bytes,
      verify: async () => {
        const after = await file.stat({ bigint: true });
        if (after.size === before.size && after.mtimeNs === before.mtimeNs) return;
        throw invalidList(`${name} changed during the import.`);
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
    throw invalidList(`${name} cannot be opened: ${why}.`);
  }
}

/** The first `size` bytes of a file; bytes appended meanwhile are not read. */
async function* bytesOf(
  file: FileHandle,
  size: number,
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
    yield piece.subarray(0, bytesRead);
  }
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
        : invalidList('The stream of the list failed before its end.');
    }
  };
  const onAbort = () => stream.destroy(new Error('stopped'));
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted === true) onAbort();
  return {
    canReread: false,
    bytesRead: () => bytesRead,
    read: () => readAs(options.format, bytes(), options),
    close: () => {
      options.signal?.removeEventListener('abort', onAbort);
      stream.destroy();
      return Promise.resolve();
    },
  };
}

function openContacts(
  contacts: Iterable<object> | AsyncIterable<object>,
  options: SourceOptions,
): OpenSource {
  return {
    canReread: Array.isArray(contacts),
    bytesRead: () => 0,
    read: () => Promise.resolve(readContacts(contacts, choiceOf(options), options.rules)),
  };
}

const choiceOf = ({ map, passThrough, require: required, keep }: SourceOptions) =>
  new FieldChoice(map, passThrough, required, keep);

type Format = 'csv' | 'ndjson';

function formatByName(name: string): Format | undefined {
  const ending = /\.(csv|tsv|txt|ndjson|jsonl)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  if (ending === undefined || ending === 'txt') return undefined;
  return ending === 'ndjson' || ending === 'jsonl' ? 'ndjson' : 'csv';
}

function formatByText(beginning: Buffer): Format {
  return /^\s*\{/.test(beginning.toString()) ? 'ndjson' : 'csv';
}

async function readAs(
  format: Format | undefined,
  bytes: AsyncIterable<Buffer>,
  options: SourceOptions,
  file?: string,
): Promise<SourceReader> {
  const text = readUtf8(bytes, options.encoding);
  const first = await text.next();
  const beginning = first.done === true ? Buffer.alloc(0) : first.value;
  const all = async function* () {
    yield beginning;
    yield* text;
  };
  if ((format ?? formatByText(beginning)) === 'csv') return readCsv(all(), { ...options, file });
  return readNdjson(all(), choiceOf(options), options.rules);
}

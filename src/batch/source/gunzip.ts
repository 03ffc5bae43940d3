import { createGunzip, type Gunzip } from 'node:zlib';
import { NoticeQueueError } from '../../contracts/errors.ts';

/**
 * Decompresses gzip: members one after the other, with any number of zero bytes after each. Tools that write whole
 * blocks fill them with zero bytes. Node's own stream ends at the first of them: it does not read the members that
 * follow.
 *
 * @throws NoticeQueueError SOURCE_INVALID for what is damaged or cut off, or followed by anything else; what
 * `bytes` throws is thrown as it is
 */
export async function* gunzipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const input = new CompressedInput(bytes);
  try {
    while (await input.skipZeros()) yield* membersOf(input);
  } finally {
    input.close();
  }
}

/** Members without zero bytes between them. */
async function* membersOf(input: CompressedInput): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  let failure: Error | undefined;
  const feeding = feed(gunzip, input).catch((error: unknown) => {
    failure = error instanceof Error ? error : damaged();
    gunzip.destroy();
  });
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch {
    throw failure ?? damaged();
  }
  await feeding;
}

/** Writes to the end of the input, or to the zero byte at which the stream ends. */
async function feed(gunzip: Gunzip, input: CompressedInput): Promise<void> {
  for (let read = 0; ; read = gunzip.bytesWritten) {
    const piece = await input.next();
    if (piece === undefined) {
      gunzip.end();
      return;
    }
    await taken(gunzip, piece);
    if (gunzip.destroyed) return;
    const used = gunzip.bytesWritten - read;
    if (used === piece.length) continue;
    input.giveBack(piece.subarray(used));
    return;
  }
}

/** Resolves when the piece is decompressed, or the stream has ended before. */
function taken(gunzip: Gunzip, piece: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      gunzip.off('end', done).off('close', done);
      resolve();
    };
    gunzip.once('end', done).once('close', done);
    gunzip.write(piece, done);
  });
}

/** The compressed bytes; what a stream did not use goes to the next one. */
class CompressedInput {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer | undefined;

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#pieces = bytes[Symbol.asyncIterator]();
  }

  /** Bytes that are not empty; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    const rest = this.#rest;
    this.#rest = undefined;
    if (rest !== undefined) return rest;
    for (;;) {
      const next = await this.#pieces.next();
      if (next.done === true) return undefined;
      if (next.value.length > 0) return next.value;
    }
  }

  giveBack(rest: Buffer): void {
    this.#rest = rest;
  }

  /** @returns whether another byte follows */
  async skipZeros(): Promise<boolean> {
    for (;;) {
      const piece = await this.next();
      if (piece === undefined) return false;
      const at = piece.findIndex((byte) => byte !== 0);
      if (at < 0) continue;
      this.giveBack(piece.subarray(at));
      return true;
    }
  }

  /** Not awaited: a source that does not answer would block here. */
  close(): void {
    void this.#pieces.return?.().catch(() => {});
  }
}

function damaged(): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', 'It is a gzip file that is damaged or cut off.');
}

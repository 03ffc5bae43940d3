import { createGunzip } from 'node:zlib';
import { invalidList } from './describe-columns.ts';

/**
 * Decompresses gzip: members one after the other, and zero bytes after the last, with which tools fill whole blocks.
 * Node's stream ends at the first of them; what follows must be zero bytes, too.
 *
 * @throws NoticeQueueError SOURCE_INVALID for what is damaged or cut off, or followed by anything else; what
 * `bytes` throws is thrown as it is
 */
export async function* gunzipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  let failure: Error | undefined;
  const feeding = (async () => {
    for await (const piece of bytes) {
      const before = gunzip.bytesWritten;
      if (!gunzip.readableEnded)
        await new Promise<void>((resolve) => {
          const done = () => {
            gunzip.off('end', done).off('close', done);
            resolve();
          };
          gunzip.once('end', done).once('close', done);
          gunzip.write(piece, done);
        });
      if (gunzip.destroyed && !gunzip.readableEnded) return;
      if (piece.subarray(gunzip.bytesWritten - before).some((byte) => byte !== 0)) throw damaged();
    }
    gunzip.end();
  })().catch((error: unknown) => {
    failure = error instanceof Error ? error : damaged();
    gunzip.destroy();
  });
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch {
    throw failure ?? damaged();
  }
  await feeding;
  if (failure !== undefined) throw failure;
}

const damaged = () => invalidList('It is a gzip file that is damaged or cut off.');

import { PassThrough } from 'node:stream';
import { appendAudit, type AuditEntry } from '../../audit.ts';
import type { RouteAnswer } from '../http/route.ts';
import type { OpsContext } from '../ops-context.ts';

/**
 * Answers a CSV file that is written while it is downloaded, and records the download in the audit stream first.
 *
 * @param name of the file
 * @param produce writes the text piece by piece; `write` returns false when the client has gone
 */
export async function csvDownload(
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  entry: AuditEntry,
  name: string,
  produce: (write: (text: string) => Promise<boolean>) => Promise<unknown>,
): Promise<RouteAnswer> {
  await appendAudit(redis, keys, entry);
  const body = new PassThrough();
  const write = async (text: string) => {
    if (body.destroyed) return false;
    // A slow client slows the reading; a closed connection ends it.
    if (!body.write(text)) await drained(body);
    return !body.destroyed;
  };
  produce(write).then(
    () => body.end(),
    // Aborts the download, so that an incomplete list is not taken for the whole.
    (error: unknown) => body.destroy(error instanceof Error ? error : new Error('failed')),
  );
  return { kind: 'file', type: 'text/csv; charset=utf-8', body, name };
}

/** Resolves when the stream takes more, or has been closed; leaves no listener behind. */
function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

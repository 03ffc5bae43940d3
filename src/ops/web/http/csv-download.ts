import { PassThrough } from 'node:stream';
import { appendAudit } from '../../audit.ts';
import type { OperationExport } from '../../operations/operation.ts';
import type { OpsContext } from '../ops-context.ts';
import type { RouteAnswer } from './route.ts';

/** Answers a CSV file that is written while it is downloaded, and records the download in the audit stream first. */
export async function csvDownload(
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  { entry, fileName: name, produce }: OperationExport,
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

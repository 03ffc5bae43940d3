import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { appendAudit } from '../../audit.ts';
import type { OperationExport } from '../../operations/operation.ts';
import type { OpsContext } from '../ops-context.ts';

/** A CSV file that is written while it is downloaded; the download is recorded in the audit stream first. */
export async function csvDownload(
  reply: Pick<FastifyReply, 'headers'>,
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  { entry, fileName, produce }: OperationExport,
): Promise<PassThrough> {
  await appendAudit(redis, keys, entry);
  void reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
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
  return body;
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

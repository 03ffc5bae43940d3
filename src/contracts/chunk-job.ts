import { z } from 'zod';
import { NoticeQueueError } from './errors.ts';

/** Version of the shape of a chunk's job. A worker refuses a job with another one. */
export const CHUNK_JOB_VERSION = 1;

/** Name of the BullMQ job of a chunk. */
export const CHUNK_JOB_NAME = 'chunk';

/** What names a batch: a part of keys and job ids, so without the colon that separates those. */
export const BATCH_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What the job of a chunk carries: no contact, only where the ledger has them. */
const chunkJobSchema = z.strictObject({
  v: z.literal(CHUNK_JOB_VERSION).describe('version of this shape'),
  batch: z.string().regex(BATCH_ID).describe('id of the batch'),
  chunk: z.int().min(0).describe('number of the chunk in its batch, from 0'),
});

/** A chunk job's data, parsed. */
export type ChunkJobData = z.output<typeof chunkJobSchema>;

/** Id of a chunk's job: the same however often the chunk is queued. */
export function chunkJobId({ batch, chunk }: Pick<ChunkJobData, 'batch' | 'chunk'>): string {
  return `c-${batch}-${chunk}`;
}

/**
 * Reads the data of a chunk's job.
 *
 * @throws NoticeQueueError JOB_INVALID when the shape is not one that this version knows
 */
export function readChunkJob(data: unknown): ChunkJobData {
  const result = chunkJobSchema.safeParse(data);
  if (result.success) return result.data;
  const { v } = (typeof data === 'object' && data !== null ? data : {}) as { v?: unknown };
  throw new NoticeQueueError(
    'JOB_INVALID',
    typeof v === 'number' && v !== CHUNK_JOB_VERSION
      ? `The job of a chunk has version ${v}, this worker knows ${CHUNK_JOB_VERSION}.`
      : 'The job of a chunk does not name a batch and a chunk.',
  );
}

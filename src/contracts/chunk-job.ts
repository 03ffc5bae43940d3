import { z } from 'zod';
import { NoticeQueueError } from './errors.ts';

/** Version of the data of a chunk's job; other versions are treated as those of JOB_VERSION (job.ts). */
export const CHUNK_JOB_VERSION = 1;

/** Name of the BullMQ job of a chunk. */
export const CHUNK_JOB_NAME = 'chunk';

/** Ids of batches. They are part of Redis keys and job ids, so they must not contain a colon. */
export const BATCH_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Data of a chunk's job: no contacts, only where the ledger stores them. */
const chunkJobSchema = z.strictObject({
  v: z.literal(CHUNK_JOB_VERSION).describe('version of the job data'),
  batch: z.string().regex(BATCH_ID).describe('id of the batch'),
  chunk: z.int().min(0).describe('number of the chunk in its batch, from 0'),
});

/** Valid data of a chunk's job. */
export type ChunkJobData = z.output<typeof chunkJobSchema>;

/** Id of a chunk's job; queueing a chunk twice adds one job. */
export function chunkJobId({ batch, chunk }: Pick<ChunkJobData, 'batch' | 'chunk'>): string {
  return `c-${batch}-${chunk}`;
}

/**
 * Reads the data of a chunk's job.
 *
 * @throws NoticeQueueError JOB_INVALID if this version cannot read the data
 */
export function readChunkJob(data: unknown): ChunkJobData {
  const result = chunkJobSchema.safeParse(data);
  if (result.success) return result.data;
  const { v } = (typeof data === 'object' && data !== null ? data : {}) as { v?: unknown };
  throw new NoticeQueueError(
    'JOB_INVALID',
    typeof v === 'number' && v !== CHUNK_JOB_VERSION
      ? `The job of a chunk has version ${v}, this worker knows ${CHUNK_JOB_VERSION}.`
      : 'The job of a chunk has no batch and chunk.',
  );
}

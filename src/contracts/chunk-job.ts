import { NoticeQueueError } from './errors.ts';

/** Version of the data of a chunk's job; other versions are treated as those of JOB_VERSION (job.ts). */
export const CHUNK_JOB_VERSION = 1;

/** Name of the BullMQ job of a chunk. */
export const CHUNK_JOB_NAME = 'chunk';

/** Ids of batches. They are part of Redis keys and job ids, so they must not contain a colon. */
export const BATCH_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Data of a chunk's job: no contacts, only where the ledger stores them. */
export interface ChunkJobData {
  readonly v: typeof CHUNK_JOB_VERSION;
  /** Id of the batch. */
  readonly batch: string;
  /** Number of the chunk in its batch, from 0. */
  readonly chunk: number;
}

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
  if (isChunkJob(data)) return data;
  const { v } = fieldsOf(data);
  throw new NoticeQueueError(
    'JOB_INVALID',
    typeof v === 'number' && v !== CHUNK_JOB_VERSION
      ? `The job of a chunk has version ${v}, this worker knows ${CHUNK_JOB_VERSION}.`
      : 'The job of a chunk has no batch and chunk.',
  );
}

/** Exactly these three fields. Written by hand: every command that takes the id of a batch loads this file. */
function isChunkJob(data: unknown): data is ChunkJobData {
  const { v, batch, chunk, ...others } = fieldsOf(data);
  return (
    v === CHUNK_JOB_VERSION &&
    typeof batch === 'string' &&
    BATCH_ID.test(batch) &&
    Number.isSafeInteger(chunk) &&
    Number(chunk) >= 0 &&
    Object.keys(others).length === 0
  );
}

function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
}

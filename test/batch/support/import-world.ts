import { onTestFinished } from 'vitest';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import { batchSeal, NO_SEALING, type Sealing } from '../../../src/payload/seal.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import {
  NoticeQueue,
  NoticeQueueError,
  type Contact,
  type ImportOptions,
  type ImportReport,
  type ImportSource,
  type NoticeQueueOptions,
} from '../../../src/index.ts';
import type { TestRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { temporaryFile } from '../../support/temporary.ts';

/** Writes a list and returns its path. */
export const listFile = (content: string | Uint8Array, name = 'list.csv') =>
  temporaryFile(content, name);

/** An account of its own on the run's Redis, for imports and for looking at what they stored. */
export function importWorld(redis: TestRedis, options: NoticeQueueOptions = {}) {
  const { prefix, keys } = redis.account();
  const ledger = new Ledger(redis.client, keys);
  // Lists with the same numbers are another matter (repeated-people).
  const queue = new NoticeQueue({
    redis: connectionAs('importer', redis.url),
    prefix,
    repeatWindowMs: 0,
    ...options,
  });
  onTestFinished(() => queue.close());
  const importList = (
    source: ImportSource,
    more: Partial<ImportOptions> = {},
  ): Promise<ImportReport> => queue.import(source, { templateCode: 'T', chunkSize: 100, ...more });
  return {
    prefix,
    keys,
    ledger,
    queue,
    import: importList,
    /** Imports, and stops while so many contacts are unsent. @returns its failure */
    stopped: async (source: ImportSource, highWater: number, more: Partial<ImportOptions> = {}) => {
      const stop = new AbortController();
      const failure = await failureOf(
        importList(source, {
          highWater,
          signal: stop.signal,
          onProgress: ({ waiting }) => waiting && stop.abort(),
          ...more,
        }),
      );
      if (failure.code !== 'IMPORT_STOPPED') throw failure;
      return failure;
    },
    /** All contacts of the batch, in the order of its chunks. */
    contacts: async (id: string, sealing: Sealing = NO_SEALING): Promise<Contact[]> => {
      const { chunks = 0 } = (await ledger.read(id)) ?? {};
      const all: Contact[] = [];
      for (let chunk = 0; chunk < chunks; chunk++) {
        const payload = await ledger.payload(id, String(chunk));
        if (payload !== undefined)
          all.push(...(await decodeContacts(payload, batchSeal(sealing, id))));
      }
      return all;
    },
    /** Ids of the chunk jobs that wait; those of a batch with a rate wait for their turn. */
    jobIds: async (): Promise<string[]> => {
      const ready = await redis.client.lrange(`${keys.bullPrefix}:chunks:wait`, 0, -1);
      const delayed = await redis.client.zrange(`${keys.bullPrefix}:chunks:delayed`, '0', '-1');
      return [...ready, ...delayed].sort();
    },
  };
}

/** The error of our family that a promise fails with. */
export async function failureOf(work: Promise<unknown>): Promise<NoticeQueueError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof NoticeQueueError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

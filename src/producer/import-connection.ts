import { importBatch } from '../batch/import/import-batch.ts';
import { findKey } from '../number-index/number-key.ts';
import type { ImportOptions, ImportReport } from '../batch/import/import-options.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import { payloadKey } from '../batch/payload/payload-key.ts';
import { queueChunks } from '../batch/import/queue-chunks.ts';
import { connectRedis } from '../redis/connect.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import type { QueueSettings } from './options.ts';

/**
 * Runs one import on its own connection, so that it does not delay sends. A dry run opens none.
 *
 * @param closing stops the import, like the signal of its options
 */
export async function importThrough(
  settings: QueueSettings,
  source: ImportSource,
  options: ImportOptions,
  closing: AbortSignal,
): Promise<ImportReport> {
  const { redis, prefix, account, enqueueTimeoutMs } = settings;
  const { payloadKey: sealedBy, findKey: foundBy } = settings;
  const { signal, dryRun } = (options as ImportOptions | undefined) ?? {};
  const importSettings = {
    ...settings,
    payloadKey: sealedBy === undefined ? undefined : payloadKey(sealedBy),
    findKey: foundBy === undefined ? undefined : findKey(foundBy),
  };
  const own = {
    ...options,
    signal:
      signal instanceof AbortSignal ? AbortSignal.any([signal, closing]) : (signal ?? closing),
  };
  if (dryRun === true) {
    return importBatch(undefined, source, own, importSettings);
  }
  // Connection errors are thrown by the step that fails.
  const client = connectRedis(redis, 'reader', () => {}, enqueueTimeoutMs);
  const keys = keysOf(prefix, account);
  const queue = openBullQueue(CHUNK_QUEUE_NAME, client, keys);
  const ledger = new Ledger(client, keys);
  try {
    const target = { ledger, queueChunks: (id: string) => queueChunks(ledger, queue, id) };
    return await importBatch(target, source, own, importSettings);
  } finally {
    await queue.close().catch(() => {});
    client.disconnect();
  }
}

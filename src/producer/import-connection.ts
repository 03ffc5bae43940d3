import { Cancellation, withAbortSignal } from '../async/cancellation.ts';
import { importBatch } from '../batch/import/import-batch.ts';
import { findKey } from '../number-index/number-key.ts';
import { RecentLists } from '../number-index/recent-lists.ts';
import type { ImportOptions, ImportReport } from '../batch/import/import-options.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import { readAccountSecret } from '../payload/account-secret.ts';
import { sealingOf } from '../payload/seal.ts';
import { queueChunks } from '../batch/import/queue-chunks.ts';
import { connectRedis } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../redis/keys.ts';
import { MemoryRoom } from '../redis/memory-room.ts';
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
  const { signal } = (options as ImportOptions | undefined) ?? {};
  // Any other value is left for the validation of the options to refuse.
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    return runImport(settings, source, options);
  }
  return withAbortSignal(new Cancellation(signal, closing), (either) =>
    runImport(settings, source, { ...options, signal: either }),
  );
}

async function runImport(
  settings: QueueSettings,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportReport> {
  const { redis, prefix, account, enqueueTimeoutMs, repeatWindowMs } = settings;
  const sealing = sealingOf(account, { payloadKey: settings.payloadKey });
  const foundBy = settings.findKey === undefined ? undefined : findKey(settings.findKey);
  const all = { ...settings, sealing, findKey: foundBy };
  if (options.dryRun === true) return importBatch(undefined, source, options, all);
  // Connection errors are thrown by the step that fails.
  const client = connectRedis(redis, 'reader', () => {}, enqueueTimeoutMs);
  const keys = keysOf(prefix, account);
  const queue = openBullQueue(CHUNK_QUEUE_NAME, client, keys);
  const ledger = new Ledger(client, keys);
  try {
    const target = {
      ledger,
      room: new MemoryRoom(client, 'lists'),
      recent: repeatWindowMs > 0 ? new RecentLists(client, keys, repeatWindowMs) : undefined,
      queueChunks: (id: string) => queueChunks(ledger, queue, id),
      secret: () => translated(readAccountSecret(client, keys.account, sealing)),
    };
    return await importBatch(target, source, options, all);
  } finally {
    await queue.close().catch(() => {});
    client.disconnect();
  }
}

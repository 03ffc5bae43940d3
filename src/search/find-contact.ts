import { sealingOf } from '../payload/seal.ts';
import { readQueueOptions, type NoticeQueueOptions } from '../producer/options.ts';
import { keysOf } from '../redis/keys.ts';
import type { FindReport } from './find-answer.ts';

/** Options of {@link findContact}: those of the queue, with `findKey`, and a former key. */
export interface FindOptions extends NoticeQueueOptions {
  /** The former `payloadKey`, for batches that were imported before it changed. Variable PAYLOAD_KEY_PREVIOUS. */
  payloadKeyPrevious?: string | undefined;
}

/**
 * Finds what became of the notices for one phone number: single notices and contacts of batches, as far
 * back as `keepFailedMs`. Opens a connection for this one search. The environment is not read.
 *
 * @example
 * const { notices, contacts } = await findContact('01012345678', { findKey: process.env.FIND_KEY });
 * @param number a phone number in the national format; separators are removed
 * @throws InputError CONFIG_INVALID without `findKey`; NOTICE_INVALID if `number` is not a phone number
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findContact(number: string, options: FindOptions = {}): Promise<FindReport> {
  const { payloadKeyPrevious, ...rest } = options;
  const settings = readQueueOptions(rest);
  const { redis: server, prefix, account, enqueueTimeoutMs } = settings;
  const keys = keysOf(prefix, account);
  const sealing = sealingOf(account, { ...settings, payloadKeyPrevious });
  // Loaded by the first search: most programs that import the package make none.
  const [{ findInQueue }, { withRedis }] = await Promise.all([
    import('./find-in-queue.ts'),
    import('../redis/with-redis.ts'),
  ]);
  return withRedis(server, enqueueTimeoutMs, (redis) =>
    findInQueue({ redis, keys, sealing, findSettings: settings }, number),
  );
}

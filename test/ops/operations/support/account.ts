import { allFailed } from '../../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts } from '../../../batch/support/built-batch.ts';
import type { testRedis } from '../../../support/redis.ts';
import { failNotices } from '../../support/failed-notices.ts';

export const NUMBER = '01000000001';

/**
 * An account in which each operation has something to do: three notices that wait, the second with the idempotency key
 * `k`, a batch `b` with contacts that were rejected, one notice that is unknown, four that were rejected.
 *
 * @returns the id of the third notice, too
 */
export async function filledAccount(redis: ReturnType<typeof testRedis>, findKey: string) {
  const { prefix, queueAs } = redis.account();
  const queue = queueAs('producer', { findKey });
  const notice = { templateCode: 'WAITS', contacts: [{ contact: NUMBER }] };
  await queue.send(notice);
  await queue.send(notice, { idempotencyKey: 'k' });
  const { id } = await queue.send(notice);
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(2), contacts(2, 2)]);
  await batch.settle(0, allFailed('rejected', 'BAD', ''));
  await failNotices(redis, prefix, { count: 1, from: 4, state: 'unknown' });
  const { keys } = await failNotices(redis, prefix, { count: 4 });
  return { prefix, keys, id };
}

import type { Redis } from 'ioredis';
import type { UnknownFacts } from '../../../src/fleet/intents/intents.ts';
import { Intents } from '../../../src/fleet/intents/intents.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { connectionAs } from '../../support/redis-users.ts';

/** What is written. */
export interface FailedNoticesOptions {
  readonly count: number;
  /** Number of the first: its id and its phone number follow from it. Default: 0 */
  readonly from?: number;
  /** `waiting`: jobs that no worker has taken. Default: rejected */
  readonly state?: 'rejected' | 'unknown' | 'waiting';
  readonly code?: string;
  readonly template?: string;
}

/** Notices per round trip. */
const PAGE = 1_000;

/** The phone number of a notice that {@link failNotices} writes. */
const numberOf = (index: number) => `0100${String(index).padStart(7, '0')}`;

/**
 * Writes many single notices as they lie in Redis when a worker has failed them, or before it has taken them:
 * copies of one job that the producer has queued.
 */
export async function failNotices(
  redis: { readonly url: string; readonly client: Redis },
  prefix: string,
  options: FailedNoticesOptions,
): Promise<{ readonly ids: readonly string[]; readonly keys: Keys }> {
  const { count, from = 0, state = 'rejected', code = 'BAD_NUMBER', template = 'CODE' } = options;
  const keys = keysOf(prefix, 'default');
  const { client } = redis;
  const job = await queuedJob(redis, prefix, template);
  const ids: string[] = [];
  const now = Date.now();
  for (let first = 0; first < count; first += PAGE) {
    const some = Array.from({ length: Math.min(PAGE, count - first) }, (_, index) => {
      const number = from + first + index;
      return {
        number,
        id: `n-${String(number).padStart(16, '0')}`,
        at: now - count + first + index,
      };
    });
    const writes = client.pipeline();
    for (const { id, number, at } of some) {
      const data = job['data']?.replace(numberOf(0), numberOf(number));
      const failed = { failedReason: `${code}: HTTP 400`, finishedOn: at, processedOn: at, atm: 1 };
      writes.hset(keys.noticeJob(id), { ...job, data, ...(state === 'waiting' ? {} : failed) });
      if (state === 'waiting') writes.lpush(keys.noticesIn('wait'), id);
      else writes.zadd(keys.failedNotices, at, id);
    }
    await writes.exec();
    ids.push(...some.map(({ id }) => id));
    if (state === 'unknown') await listUnknown(client, keys, some, { code, template });
  }
  return { ids, keys };
}

/**
 * Ends a notice that waits as rejected, as a worker does.
 *
 * @param fields of its job, beside those of its end or in their place
 */
export async function endWaiting(
  client: Redis,
  keys: Keys,
  id: string,
  fields: Readonly<Record<string, string | number>> = {},
): Promise<void> {
  const end = {
    failedReason: 'BAD_NUMBER: HTTP 400',
    finishedOn: Date.now(),
    processedOn: 1,
    atm: 1,
    ...fields,
  };
  await client.lrem(keys.noticesIn('wait'), 1, id);
  await client.zrem(keys.noticesIn('prioritized'), id);
  await client.hset(keys.noticeJob(id), end);
  await client.zadd(keys.failedNotices, end.finishedOn, id);
}

/** The fields of a job that was queued; it is taken away. */
async function queuedJob(
  { url, client }: { readonly url: string; readonly client: Redis },
  prefix: string,
  templateCode: string,
): Promise<Record<string, string>> {
  const queue = new NoticeQueue({ redis: connectionAs('producer', url), prefix });
  const keys = keysOf(prefix, 'default');
  try {
    const { id } = await queue.send({ templateCode, contacts: [{ contact: numberOf(0) }] });
    const { deid: _, ...job } = await client.hgetall(keys.noticeJob(id));
    await client.lrem(keys.noticesIn('wait'), 1, id);
    await client.del(keys.noticeJob(id));
    return job;
  } finally {
    await queue.close();
  }
}

async function listUnknown(
  client: Redis,
  keys: Keys,
  notices: readonly { readonly id: string }[],
  known: Pick<UnknownFacts, 'code' | 'template'>,
): Promise<void> {
  const facts = {
    ...known,
    contacts: 1,
    stage: 'sent',
    delivery: 'at-least-once',
    possiblySent: 1,
  } as const;
  const attempts = notices.map(({ id }) => ({ job: id, nonce: 'first', facts }));
  await new Intents(client, keys).park(attempts, 'none', 3_600_000);
}

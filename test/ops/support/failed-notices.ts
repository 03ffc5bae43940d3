import type { Redis } from 'ioredis';
import { endedText, type EndedEntry } from '../../../src/notices/ended.ts';
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

const REJECTED = {
  state: 'rejected',
  code: 'BAD_NUMBER',
  message: 'HTTP 400',
  template: 'CODE',
  contacts: 1,
  attempts: 1,
  possiblySent: 0,
  startedAt: 1,
} as const;

/** Writes the record of an end, as a worker does. */
async function writeEnded(
  client: Redis,
  keys: Keys,
  id: string,
  entry: Partial<EndedEntry> = {},
): Promise<EndedEntry> {
  const written: EndedEntry = { at: Date.now(), ...REJECTED, ...entry };
  await client.hset(keys.ended, id, endedText(written));
  await client.zadd(keys.endedIn(written.state), written.at, id);
  return written;
}

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
    const writes = client.pipeline();
    for (let index = first; index < Math.min(count, first + PAGE); index++) {
      const id = `n-${String(from + index).padStart(16, '0')}`;
      const at = now - count + index;
      const data = job['data']?.replace(numberOf(0), numberOf(from + index)) ?? '';
      ids.push(id);
      if (state === 'waiting') {
        writes.hset(keys.noticeJob(id), { ...job, data });
        writes.lpush(keys.noticesIn('wait'), id);
        continue;
      }
      const sends = state === 'unknown' ? ({ possiblySent: 1, stage: 'sent' } as const) : {};
      const entry = { ...REJECTED, at, state, code, template, enqueuedAt: at, data, ...sends };
      writes.hset(keys.ended, id, endedText(entry));
      writes.zadd(keys.endedIn(state), at, id);
    }
    await writes.exec();
  }
  return { ids, keys };
}

/** Ends a notice that waits, as a worker does: rejected, if the fields say nothing else. */
export async function endWaiting(
  client: Redis,
  keys: Keys,
  id: string,
  entry: Partial<EndedEntry> = {},
): Promise<EndedEntry> {
  const { data = '', timestamp } = await client.hgetall(keys.noticeJob(id));
  await client.lrem(keys.noticesIn('wait'), 1, id);
  await client.zrem(keys.noticesIn('prioritized'), id);
  const written = await writeEnded(client, keys, id, {
    ...(await keyOf(client, keys, id)),
    enqueuedAt: Number(timestamp),
    data,
    ...entry,
  });
  await client.del(keys.noticeJob(id));
  return written;
}

async function keyOf(client: Redis, keys: Keys, id: string): Promise<Partial<EndedEntry>> {
  const [key, priority] = await client.hmget(keys.noticeJob(id), 'deid', 'priority');
  return {
    ...(typeof key === 'string' && key !== id ? { key } : {}),
    ...(Number(priority) > 0 ? { priority: Number(priority) } : {}),
  };
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

/** Changes the record of an end. */
export async function endAs(
  client: Redis,
  keys: Keys,
  id: string,
  changes: Partial<EndedEntry>,
): Promise<void> {
  const entry = JSON.parse((await client.hget(keys.ended, id)) ?? '{}') as EndedEntry;
  await client.zrem(keys.endedIn(entry.state), id);
  await writeEnded(client, keys, id, { ...entry, ...changes });
}

/** Makes a notice that has ended one that ended then. */
export const endedThen = (client: Redis, keys: Keys, id: string, at: number): Promise<void> =>
  endAs(client, keys, id, { at });

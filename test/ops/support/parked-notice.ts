import type { Notice } from '../../../src/contracts/notice.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { JobHistories } from '../../../src/fleet/job-history.ts';
import { recordEnd } from '../../../src/notices/end-scripts.ts';
import type { EndedEntry } from '../../../src/notices/ended.ts';
import { QUEUE_NAME } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { unknownNotices } from '../../support/unknown-notices.ts';
import { bullQueue } from '../../support/bull-queue.ts';

/** A notice that a worker has ended as unknown, as it lies in Redis, and as it is listed. */
export type ParkedNotice = Awaited<ReturnType<typeof parkNotice>>;

const NOTICE: Notice = {
  templateCode: 'ONCE',
  contacts: [{ contact: '01000000001' }],
};

const TOKEN = 'worker-1';

/** Sends a notice at-most-once, takes its job as a worker does, and ends it as unknown. */
export async function parkNotice(
  redis: TestRedis,
  options: SendOptions = {},
  prefix = redis.freshPrefix(),
  findKey?: string,
  facts: Partial<EndedEntry> & { readonly number?: string } = {},
) {
  const { keys, queueAs, taker } = redis.account(prefix);
  const queue = queueAs('producer', { findKey });
  const { number = '01000000001', ...known } = facts;
  const notice = { ...NOTICE, contacts: [{ contact: number }] };
  await queue.send(notice, { delivery: 'at-most-once', ...options });
  const worker = taker({ removeOnComplete: { count: 0 } });
  const board = bullQueue(QUEUE_NAME, redis.client, keys);
  const job = await worker.getNextJob(TOKEN);
  if (job?.id === undefined) throw new Error('no job was queued');
  const { id, attemptsStarted: started, timestamp: addedAt, deduplicationId: key } = job;
  const intents = new JobHistories(redis.client, keys);
  const verdict = await intents.beginIntent({ job: id, nonce: 'first' }, TOKEN, 'worker');
  if (verdict !== 'send') throw new Error(`the first attempt was answered ${verdict}`);
  const entry = {
    state: 'unknown',
    template: 'ONCE',
    contacts: 1,
    code: 'ECONNRESET',
    stage: 'sent',
    delivery: 'at-most-once',
    attempts: 1,
    possiblySent: 1,
    enqueuedAt: addedAt,
    data: JSON.stringify(job.data),
    ...(key === undefined || key === id ? {} : { key }),
    ...(typeof options.expiresAt === 'number' ? { expiresAt: options.expiresAt } : {}),
    ...known,
  } as const;
  await recordEnd(redis.client, keys, { id, lockToken: TOKEN, started, addedAt }, entry, 0);
  await job.moveToCompleted({ outcome: 'unknown' }, TOKEN, false);
  await worker.close();
  const source = { redis: redis.client, keys };
  const [listed] = await unknownNotices(source, { ids: [id] });
  if (listed === undefined) throw new Error('the notice is not listed');
  return { prefix, keys, id, notice, queue, board, intents, listed };
}

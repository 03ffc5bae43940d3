import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { onTestFinished } from 'vitest';
import type { Notice } from '../../../src/contracts/notice.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { Intents, type UnknownFacts } from '../../../src/fleet/intents/intents.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { readUnknown, type UnknownNotice } from '../../../src/ops/unknown.ts';

/** A notice that a worker has set aside, as it lies in Redis. */
export interface ParkedNotice {
  readonly prefix: string;
  readonly keys: Keys;
  /** Id of its job. */
  readonly id: string;
  readonly notice: Notice;
  readonly queue: NoticeQueue;
  readonly board: Queue;
  readonly intents: Intents;
  /** As it is listed. */
  readonly listed: UnknownNotice;
}

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
  facts: Partial<UnknownFacts> & { readonly number?: string } = {},
): Promise<ParkedNotice> {
  const keys = keysOf(prefix, 'default');
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix, findKey });
  onTestFinished(() => queue.close());
  const { number = '01000000001', ...known } = facts;
  const notice = { ...NOTICE, contacts: [{ contact: number }] };
  await queue.send(notice, { delivery: 'at-most-once', ...options });
  const bull = { connection: redis.client, prefix: keys.bullPrefix };
  const worker = new Worker(QUEUE_NAME, undefined, {
    ...bull,
    connection: redis.connect({ name: 'taker', forWorker: true }),
    autorun: false,
  });
  const board = new Queue(QUEUE_NAME, bull);
  onTestFinished(async () => {
    await worker.close();
    await board.close();
  });
  const job = await worker.getNextJob(TOKEN);
  if (job?.id === undefined) throw new Error('no job was queued');
  const { id } = job;
  const intents = new Intents(redis.client, keys);
  const attempt = { job: id, nonce: 'first' };
  const [verdict] = await intents.begin([{ ...attempt, lockToken: TOKEN }], 'worker');
  if (verdict !== 'send') throw new Error(`the first attempt was answered ${verdict}`);
  const parked = {
    template: 'ONCE',
    contacts: 1,
    code: 'ECONNRESET',
    stage: 'sent',
    delivery: 'at-most-once',
    possiblySent: 1,
    ...known,
  } as const;
  await intents.park([{ ...attempt, facts: parked }], 'own', 3_600_000);
  await job.moveToFailed(new UnrecoverableError(parked.code), TOKEN);
  await worker.close();
  const [listed] = await readUnknown(redis.client, keys, [id]);
  if (listed === undefined) throw new Error('the notice is not listed');
  return { prefix, keys, id, notice, queue, board, intents, listed };
}

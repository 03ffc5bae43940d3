import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { until } from '../../support/wait.ts';
import { NUMBERS, SECRET_VARIABLES, VALUES } from './canaries.ts';
import { notice, openQueue, type Sent } from './play.ts';
import type { World } from './world.ts';

const LONG_MS = 3_600_000;

/** The data of jobs that no worker can read, as another producer could store them. */
const DATA: readonly string[] = [
  JSON.stringify({
    v: 1,
    notice: { templateCode: [NUMBERS.malformed], contacts: VALUES.malformedValue },
    [NUMBERS.malformed]: VALUES.malformedValue,
  }),
  JSON.stringify({ v: NUMBERS.malformed, sealed: VALUES.malformedValue }),
  `{"contact":"${NUMBERS.notJson}",`,
];

/** Malformed jobs. */
export function queueMalformed(world: World, sent: Sent): Promise<void> {
  return queueUnreadable(world, sent, DATA);
}

/** A job with the encrypted contacts of another one. Exports of all notices fail from then on. */
export async function queueCopied(world: World, sent: Sent): Promise<void> {
  const producer = openQueue(world.main, SECRET_VARIABLES.PAYLOAD_KEY);
  const { id } = await producer.send(notice(NUMBERS.copied), { delay: LONG_MS });
  sent.ids.push(id);
  sent.notices.push(notice(NUMBERS.copied));
  const key = keysOf('canary', 'default').noticeJob(id);
  const data = await world.connect(world.main).hget(key, 'data');
  await queueUnreadable(world, sent, [data ?? '']);
}

async function queueUnreadable(world: World, sent: Sent, texts: readonly string[]): Promise<void> {
  const client = world.connect(world.main);
  const keys = keysOf('canary', 'default');
  const queue = openBullQueue(QUEUE_NAME, client, keys);
  const ids: string[] = [];
  for (const data of texts) {
    // Delayed, so that no worker takes it before it has its data.
    const job = await queue.add('send', {}, { delay: LONG_MS });
    const { id = '' } = job;
    await client.hset(keys.noticeJob(id), { data });
    await job.promote();
    ids.push(id);
  }
  await queue.close();
  sent.ids.push(...ids);
  const scores = () => client.zmscore(keys.endedIn('rejected'), ...ids);
  await until(async () => (await scores()).every((score) => score !== null), {
    what: 'the end of the jobs that no worker can read',
    deadlineMs: 60_000,
  });
}

import { onTestFinished } from 'vitest';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/wait.ts';
import { NUMBERS, SECRET_VARIABLES, VALUES } from './canaries.ts';
import { accepted, note, notice, openQueue, sendOne, startWorker, type Sent } from './play.ts';
import type { World } from './world.ts';

/** How Redis refuses writes, by the notice that a worker sends meanwhile: what begins it, what ends it, its code. */
const REFUSALS = {
  writesRefused: [
    'CONFIG SET min-replicas-to-write 1',
    'CONFIG SET min-replicas-to-write 0',
    'NOREPLICAS',
  ],
  outOfMemory: ['CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0', 'OOM'],
  // Nobody listens at that port: it stays a replica with the data that it has.
  readOnly: ['REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE', 'READONLY'],
} as const;

/**
 * Holds that the service causes, pages in place of its answers, and answers that are no outcome: all repeat the
 * request. Then connections to it are refused.
 */
export async function troubleWithService(world: World, sent: Sent): Promise<void> {
  world.tap.echo(NUMBERS.heldByService, 402, { once: true });
  await sendOne(world, sent, 'heldByService');
  await accepted(world, 'heldByService');
  for (const status of [200, 403]) {
    world.tap.echo(NUMBERS.pageInstead, status, { once: true, page: true });
  }
  await sendOne(world, sent, 'pageInstead');
  await accepted(world, 'pageInstead');
  for (const status of [429, 503, 301, 500]) {
    world.tap.echo(NUMBERS.badAnswers, status, { once: true });
  }
  const id = await sendOne(world, sent, 'badAnswers');
  // Not before the worker has its answer, too: the next step cuts connections.
  const client = world.connect(world.main);
  const completed = () => client.zscore(keysOf('canary', 'default').noticesIn('completed'), id);
  await until(completed, { what: 'the end of the notice', deadlineMs: 60_000 });
  await world.tap.refuse(async () => {
    await sendOne(world, sent, 'refused');
    await world.says('log of a worker', /SERVICE_UNREACHABLE/);
  });
  await accepted(world, 'refused');
}

/** Redis refuses writes while the service has a request, so that its end cannot be recorded. */
export async function refuseWrites(
  world: World,
  sent: Sent,
  refusal: keyof typeof REFUSALS,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const client = world.connect(world.main);
  const run = (line: string) => {
    const [command = '', ...args] = line.split(' ');
    return client.call(command, ...args);
  };
  const [refuse, end, code] = REFUSALS[refusal];
  const slow = { on: 'send', containing: NUMBERS[refusal], latencyMs: 1_500, times: 1 } as const;
  const id = world.emulator.addFault(slow);
  await sendOne(world, sent, refusal);
  const fired = () => world.emulator.faults().some((one) => one.id === id && one.spent);
  await until(fired, { what: 'the request that is slow', deadlineMs: 60_000 });
  await run(refuse);
  await meanwhile();
  await accepted(world, refusal);
  await world.says('log of a worker', new RegExp(`\\b${code}\\b`));
  await run(end);
}

/**
 * A worker, with a log for people, and a command whose replies from Redis are lost.
 *
 * @param command run with the address at which replies are lost
 */
export async function loseReplies(
  world: World,
  sent: Sent,
  command: (env: { readonly REDIS_URL: string }) => Promise<unknown>,
): Promise<void> {
  const proxy = await startFaultProxy(world.main.redis.port);
  onTestFinished(() => proxy.close());
  const env = { REDIS_URL: proxy.url };
  await startWorker(world, world.main, env);
  await proxy.place({ kind: 'drop-reply', when: 'evalsha', times: 3 });
  await command(env);
  await sendOne(world, sent, 'lostReply');
  await accepted(world, 'lostReply');
  await until(() => proxy.struck >= 3, { what: 'three lost replies', deadlineMs: 60_000 });
}

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

/** A job with the encrypted contacts of another one. Exports of all notices fail from then on. */
export async function queueCopied(world: World, sent: Sent): Promise<void> {
  const producer = openQueue(world.main, SECRET_VARIABLES.PAYLOAD_KEY);
  const { id } = await producer.send(notice(NUMBERS.copied), { delay: LONG_MS });
  note(sent, id, NUMBERS.copied);
  const key = keysOf('canary', 'default').noticeJob(id);
  const data = await world.connect(world.main).hget(key, 'data');
  await queueMalformed(world, sent, [data ?? '']);
}

/** Queues jobs that no worker can read. */
export async function queueMalformed(world: World, sent: Sent, texts = DATA): Promise<void> {
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

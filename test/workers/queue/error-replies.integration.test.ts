import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { room, type Line } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { startRefusingRedis, type Refuse, type RefusingRedis } from './support/refusing-redis.ts';
import { until } from '../../support/wait.ts';

const NOTICES = 20;
const LATENCY_MS = 500;
const ROWS = 4_000;

/** Replies that no Redis gives for a mistake of this program; the first ones by a gateway in front of it. */
const REPLIES: readonly (readonly [what: string, refuse: Refuse])[] = [
  [
    'a quota that is spent',
    () => 'ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.',
  ],
  [
    'SCRIPT KILL',
    (name) =>
      name === 'evalsha' || name === 'eval'
        ? 'ERR Script killed by user with SCRIPT KILL... script: 694a5fe1, on @user_script:1.'
        : undefined,
  ],
];

/** Redis answers like this from the moment at which the service has taken everything, for a while. */
describe('while Redis answers with an error, what the service answered', () => {
  const lines = room();
  const { redis } = lines;
  let emulator: Emulator | undefined;

  afterEach(async () => {
    await emulator?.close();
    emulator = undefined;
  });

  async function start(): Promise<{ service: Emulator; line: Line; proxy: RefusingRedis }> {
    const service = (emulator = await startEmulator());
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const proxy = await startRefusingRedis(Number(new URL(redis.url).port));
    onTestFinished(() => proxy.close());
    const line = await lines.line(service.url);
    await line.restart({
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      CONCURRENCY: '20',
      BATCH_CONCURRENCY: '20',
    });
    return { service, line, proxy };
  }

  /** Refuses until every answer of the service has met it. */
  async function refuseThrough(
    { service, proxy }: Awaited<ReturnType<typeof start>>,
    refuse: Refuse,
  ): Promise<void> {
    await until(() => service.record().requests >= NOTICES, { what: 'all to be at the service' });
    proxy.refuse(refuse);
    await until(() => proxy.refused >= 4 * NOTICES, {
      what: 'each record to be refused again and again',
    });
    proxy.refuse(undefined);
  }

  const taken = (): number[] => [...(emulator?.contacts() ?? [])].map(({ count }) => count);
  const once = Array.from({ length: NOTICES }, () => 1);

  const policies: readonly SendOptions[] = [{}, { delivery: 'at-most-once' }];
  it.each(
    REPLIES.flatMap(([what, refuse]) =>
      policies.map((options) => [what, options, refuse] as const),
    ),
  )('is recorded of single notices: %s, %j', async (_, options, refuse) => {
    const stage = await start();
    const { line } = stage;
    await line.queue.sendMany(
      numbers(NOTICES).map((contact) => ({ templateCode: 'ONCE', contacts: [{ contact }] })),
      options,
    );
    await refuseThrough(stage, refuse);
    const queue = openBullQueue(QUEUE_NAME, redis.client, keysOf(line.prefix, 'default'));
    try {
      await until(async () => (await queue.getCompletedCount()) === NOTICES, {
        what: 'all to be done',
        deadlineMs: 20_000,
      });
      expect(await queue.getFailedCount()).toBe(0);
    } finally {
      await queue.close();
    }
    expect(taken()).toEqual(once);
  });

  it.each(REPLIES)('is recorded of a list: %s', async (_, refuse) => {
    const stage = await start();
    const { line } = stage;
    const { batch } = await line.queue.import(
      numbers(NOTICES).map((contact) => ({ contact })),
      { templateCode: 'ONCE', chunkSize: 1 },
    );
    await refuseThrough(stage, refuse);
    const reader = new LedgerReader(redis.client, keysOf(line.prefix, 'default'));
    const counts = await until(
      async () => {
        const found = await reader.read(batch);
        return found?.phase === 'finished' && found.counts;
      },
      { what: 'the batch to be finished', deadlineMs: 20_000 },
    );
    expect(counts).toMatchObject({ accepted: NOTICES, possiblySentTwice: 0 });
    expect(taken()).toEqual(once);
  });

  it.each(REPLIES)('does not end a running import: %s', async (_, refuse) => {
    const proxy = await startRefusingRedis(Number(new URL(redis.url).port));
    onTestFinished(() => proxy.close());
    const prefix = redis.freshPrefix();
    const queue = new NoticeQueue({
      redis: connectionAs('importer', redis.url, `redis://127.0.0.1:${proxy.port}`),
      prefix,
    });
    onTestFinished(() => queue.close());
    async function* rows() {
      for (const [index, contact] of numbers(ROWS).entries()) {
        if (index === ROWS / 2) {
          await until(
            async () => (await redis.keys(prefix)).some((key) => key.endsWith(':payload')),
            {
              what: 'a chunk to be stored',
            },
          );
          proxy.refuse(refuse);
          setTimeout(() => proxy.refuse(undefined), 300);
        }
        yield { contact };
      }
    }
    const report = await queue.import(rows(), { templateCode: 'T', chunkSize: 10 });
    expect(proxy.refused).toBeGreaterThan(0);
    expect(report).toMatchObject({ contacts: ROWS, refused: 0 });
  });
});

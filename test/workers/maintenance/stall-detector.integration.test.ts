import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { placeManualHold, liftManualHold } from '../../../src/fleet/hold/holds.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { UnreadyReasons } from '../../../workers/health/readiness.ts';
import { createStallDetector } from '../../../workers/maintenance/stall-detector.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';

describe('startStallDetector', () => {
  const redis = testRedis();
  const closers: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const GRACE_MS = 300;

  async function watchOver(jobs: number, priority = 0) {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    closers.push(() => queue.close());
    for (let job = 0; job < jobs; job++) {
      await queue.send({ templateCode: 'T', contacts: [{ contact: '0101' }] }, { priority });
    }
    const seen = { started: 0, stalls: 0, checks: 0, resting: false };
    const worker = { busy: () => false, started: () => seen.started, resting: () => seen.resting };
    const client = redis.connect({ name: 'worker', forWorker: true });
    const readiness = new UnreadyReasons();
    const log = pino({ level: 'silent' });
    const watch = createStallDetector({
      redis: client,
      keys,
      worker,
      graceMs: GRACE_MS,
      readiness,
      log,
      onStall: () => seen.stalls++,
      onCheck: () => seen.checks++,
    });
    await watch.start();
    closers.push(() => Promise.resolve(watch.stop()));
    return { keys, seen, readiness };
  }

  /** Waits until a detector has checked so often that it would have reported several stalls. */
  async function severalGraces({ seen }: { readonly seen: { readonly checks: number } }) {
    const wanted = seen.checks + 12;
    await until(() => seen.checks >= wanted, { what: 'several grace times of checks' });
  }

  it.each([
    ['', 0],
    [' with a priority', 3],
  ])(
    'makes the worker unready and logs once when jobs wait%s and it takes none',
    async (_, priority) => {
      const { seen, readiness } = await watchOver(2, priority);
      await until(() => readiness.reasons().length > 0, { what: 'the first check', everyMs: 5 });
      expect(readiness.reasons().map(({ reason }) => reason)).toEqual(['stalled']);
      expect(seen.stalls).toBe(0);
      await until(() => seen.stalls === 1, { what: 'the stall' });
      await severalGraces({ seen });
      expect(seen.stalls).toBe(1);
    },
  );

  it('logs nothing while nothing waits, while the worker progresses, and while the queue is held', async () => {
    const empty = await watchOver(0);
    const moving = await watchOver(2);
    const counting = setInterval(() => moving.seen.started++, GRACE_MS / 10);
    const held = await watchOver(2);
    await placeManualHold(redis.client, held.keys, 'test');
    const resting = await watchOver(2);
    resting.seen.resting = true;
    await Promise.all([empty, moving, held, resting].map(severalGraces));
    clearInterval(counting);
    for (const watched of [empty, moving, held, resting]) {
      expect([watched.seen.stalls, watched.readiness.reasons()]).toEqual([0, []]);
    }
    await liftManualHold(redis.client, held.keys);
    await until(() => held.seen.stalls === 1, { what: 'the stall after the hold' });
  });
});

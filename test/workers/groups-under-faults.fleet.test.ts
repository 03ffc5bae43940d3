import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../src/contracts/delivery.ts';
import { listUnknownNotices } from '../../src/ops/unknown.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';

const LOCK_MS = 6_000;
const STALLED_MS = 1_000;
const WORKERS = 3;
const REQUESTS = 2;
const MAX_CONTACTS = 10;
const NOTICES = 2_400;
/** With six requests at a time the notices take some three seconds where nothing disturbs them. */
const LATENCY_MS = 80;
/** The most that can be in flight at a fault. */
const IN_FLIGHT = WORKERS * REQUESTS * MAX_CONTACTS;

const ENV = {
  CONCURRENCY: String(REQUESTS),
  COALESCE_MAX_CONTACTS: String(MAX_CONTACTS),
  LOCK_DURATION_MS: String(LOCK_MS),
  STALLED_INTERVAL_MS: String(STALLED_MS),
  SEND_DEADLINE_MS: '2500',
  ANSWER_TIMEOUT_MS: '1500',
  CONNECT_TIMEOUT_MS: '500',
  ISSUE_DEADLINE_MS: '1500',
  TOKEN_LOCK_TTL_MS: '3000',
  TOKEN_GRACE_MS: '100',
  TOKEN_MIN_AGE_MS: '1000',
  TOKEN_REFUSED_MIN_MS: '200',
  TOKEN_REFUSED_MAX_MS: '1000',
  HOLD_PROBE_MIN_MS: '200',
  HOLD_PROBE_MAX_MS: '1000',
  BACKOFF_BASE_MS: '50',
  BACKOFF_CAP_MS: '300',
  ATTEMPTS: '1000',
};

interface Stage {
  readonly fleet: Fleet;
  readonly server: RedisServer;
  readonly redis: Redis;
}

/** What breaks; the most numbers that may be sent twice at-least-once beyond unknown outcomes. */
const FAULTS: readonly [string, number, (stage: Stage) => Promise<void>][] = [
  [
    'all workers SIGKILLed, others started',
    IN_FLIGHT,
    async ({ fleet }) => {
      for (const worker of fleet.workers) worker.kill('SIGKILL');
      await Promise.all([fleet.addWorker(), fleet.addWorker()]);
    },
  ],
  [
    'a worker stopped past its locks, then continued',
    IN_FLIGHT,
    async ({ fleet }) => {
      const [zombie] = fleet.workers;
      zombie?.kill('SIGSTOP');
      await pause(LOCK_MS + 3 * STALLED_MS);
      zombie?.kill('SIGCONT');
    },
  ],
  [
    'Redis killed and started again (AOF)',
    // What Redis had not yet written to disk is forgotten, with it that jobs were done.
    NOTICES,
    async ({ server }) => {
      await server.kill('SIGKILL');
      await server.restart();
    },
  ],
  [
    'a service that answers 500, resets and refuses with 400',
    0,
    async ({ fleet: { emulator } }) => {
      emulator.addFault({ on: 'send', status: 500, rate: 0.1, seed: 1 });
      emulator.addFault({ on: 'send', reset: 'after-acting', rate: 0.1, seed: 2 });
      emulator.addFault({ on: 'send', status: 425, rate: 0.1, seed: 3 });
      await pause(1_500);
      emulator.clearFaults();
    },
  ],
];

/** The chaos suite sends a batch; this is the same for single notices that share requests. */
describe.each(DELIVERY_POLICIES)('groups %s', (delivery) => {
  it.each(FAULTS)(
    'lose nothing under %s',
    async (_name, beyond, disturb) => {
      const { lost, twice, unknown, doubted, failed, together } = await play(delivery, disturb);
      expect(together).toBe(true);
      expect(lost).toEqual([]);
      expect(failed).toBe(unknown.length);
      const once = delivery === 'at-most-once';
      expect(once ? twice : unknown).toEqual([]);
      const explained = new Set(doubted);
      const unexplained = twice.filter((number) => !explained.has(number)).length;
      expect(unexplained).toBeLessThanOrEqual(beyond);
    },
    180_000,
  );
});

async function play(delivery: DeliveryPolicy, disturb: (stage: Stage) => Promise<void>) {
  const server = await startRedisServer({ persistence: true });
  const prefix = 'groups';
  const keys = keysOf(prefix, 'default');
  const redis = new Redis(server.url, { maxRetriesPerRequest: 0, commandTimeout: 1_000 });
  redis.on('error', () => {});
  const board = openBullQueue(QUEUE_NAME, redis, keys);
  board.on('error', () => {});
  let fleet: Fleet | undefined;
  try {
    const on = await startFleet({
      redisUrl: server.url,
      prefix,
      processes: WORKERS,
      env: ENV,
      emulator: { tokenMode: 'single', latencyMs: LATENCY_MS },
    });
    fleet = on;
    const list = numbers(NOTICES);
    const receipts = await on.queue.sendMany(
      list.map((contact) => ({ templateCode: 'GROUPS', contacts: [{ contact }] })),
      { delivery },
    );
    const numberOf = new Map(receipts.map(({ id }, index) => [id, list[index] ?? '']));
    await until(() => on.emulator.record().contacts > NOTICES / 10, {
      what: 'the first to be taken',
      everyMs: 5,
      deadlineMs: 30_000,
    });
    await disturb({ fleet: on, server, redis });
    await until(
      async () => {
        const states = ['active', 'waiting', 'delayed'] as const;
        const counts = await board.getJobCounts(...states).catch(() => undefined);
        return counts !== undefined && states.every((state) => counts[state] === 0);
      },
      { what: 'every job to end', deadlineMs: 120_000, everyMs: 100 },
    );
    const unknown = (await listUnknownNotices({ redis, keys })).map(
      ({ id }) => numberOf.get(id) ?? '',
    );
    const taken = [...on.emulator.contacts()];
    const known = new Set([...taken.map(({ contact }) => contact), ...unknown]);
    return {
      lost: list.filter((number) => !known.has(number)),
      twice: taken.filter(({ count }) => count > 1).map(({ contact }) => contact),
      unknown,
      failed: await board.getFailedCount(),
      doubted: on
        .attempts()
        .filter(({ outcome }) => outcome === 'unknown')
        .map(({ job }) => numberOf.get(String(job)) ?? ''),
      together: on.attempts().some(({ together }) => Number(together) > 1),
    };
  } finally {
    await board.close().catch(() => {});
    redis.disconnect();
    await fleet?.close();
    await server.close();
  }
}

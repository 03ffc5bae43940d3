import { afterEach, describe, expect, it } from 'vitest';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { LedgerReader } from '../../../src/batch/ledger/ledger-reader.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { readNoticeEvents } from '../../support/events.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { room, type Line } from '../../service-coverage/support/line.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';

const NOTICES = 20;
/** How long the service takes to answer: writes are refused meanwhile. */
const LATENCY_MS = 700;
const ALL_AT_ONCE = { CONCURRENCY: '20', NOTICE_EVENTS: '1000' };
const SHORT_LOCK = {
  ...ALL_AT_ONCE,
  LOCK_DURATION_MS: '5000',
  HEARTBEAT_MS: '500',
  SEND_DEADLINE_MS: '2400',
  ANSWER_TIMEOUT_MS: '2000',
  CONNECT_TIMEOUT_MS: '400',
  ISSUE_DEADLINE_MS: '2400',
};

/**
 * Redis refuses writes from the moment at which the service has taken all notices, so none of the answers
 * can be recorded. Afterwards each notice must be done, have its event, and be in the service's record once.
 */
describe('while Redis refuses writes, an answer of the service', () => {
  const lines = room();
  const { redis } = lines;
  let emulator: Emulator | undefined;

  afterEach(async () => {
    await redis.client.config('SET', 'min-replicas-to-write', '0');
    await redis.client.config('SET', 'maxmemory', '0');
    await redis.client.call('REPLICAOF', 'NO', 'ONE');
    await emulator?.close();
    emulator = undefined;
  });

  const refusals = {
    NOREPLICAS: {
      begin: () => redis.client.config('SET', 'min-replicas-to-write', '1'),
      end: () => redis.client.config('SET', 'min-replicas-to-write', '0'),
    },
    OOM: {
      begin: () => redis.client.config('SET', 'maxmemory', '1'),
      end: () => redis.client.config('SET', 'maxmemory', '0'),
    },
    // Of a server that does not answer, so that it keeps its data.
    READONLY: {
      begin: () => redis.client.call('REPLICAOF', '127.0.0.1', '1'),
      end: () => redis.client.call('REPLICAOF', 'NO', 'ONE'),
    },
  } as const;

  async function sendAll(
    env: Readonly<Record<string, string>>,
    options: SendOptions = {},
  ): Promise<Line> {
    emulator = await startEmulator();
    emulator.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const line = await lines.line(emulator.url, env);
    await line.queue.sendMany(
      numbers(NOTICES).map((contact) => ({ templateCode: 'ONCE', contacts: [{ contact }] })),
      options,
    );
    const service = emulator;
    await until(() => service.record().requests >= NOTICES, { what: 'all to be at the service' });
    return line;
  }

  const answered = (line: Line) =>
    until(() => line.attempts().length >= NOTICES, { what: 'all answers' });

  async function untilDone({ prefix }: Line): Promise<number> {
    const queue = openBullQueue(QUEUE_NAME, redis.client, keysOf(prefix, 'default'));
    try {
      await until(async () => (await queue.getCompletedCount()) === NOTICES, {
        what: 'all to be done',
        deadlineMs: 20_000,
      });
      return await queue.getFailedCount();
    } finally {
      await queue.close();
    }
  }

  /** How many notices have the event that they were accepted, and how many have another one. */
  async function announced({ prefix }: Line): Promise<readonly [number, number]> {
    const keys = keysOf(prefix, 'default');
    const { events } = await readNoticeEvents(redis.client, keys, '0', 1_000);
    const of = (isAccepted: boolean) =>
      new Set(
        events
          .filter(({ state }) => (state === 'accepted') === isAccepted)
          .map(({ notice }) => notice),
      );
    return [of(true).size, of(false).size];
  }

  /** How often the service took each number. */
  const taken = (): number[] => [...(emulator?.contacts() ?? [])].map(({ count }) => count);

  it.each(Object.entries(refusals))('is recorded after a moment of %s', async (_code, refusal) => {
    const line = await sendAll(ALL_AT_ONCE);
    await refusal.begin();
    await answered(line);
    await until(() => line.log.some(({ event }) => event === 'redis-trouble'), {
      what: 'a refusal to be logged',
    });
    await refusal.end();
    expect(await untilDone(line)).toBe(0);
    expect(await announced(line)).toEqual([NOTICES, 0]);
    expect(taken()).toEqual(Array.from({ length: NOTICES }, () => 1));
  });

  /** Refuses writes until the locks of all jobs have ended, while another worker may take them. */
  async function refusedBeyondLocks(options: SendOptions): Promise<Line> {
    const line = await sendAll(SHORT_LOCK, options);
    await line.addWorker();
    await refusals.NOREPLICAS.begin();
    const keys = keysOf(line.prefix, 'default');
    await until(async () => (await redis.client.keys(keys.noticeLock('*'))).length === 0, {
      what: 'the locks to end',
    });
    await refusals.NOREPLICAS.end();
    return line;
  }
  const timesTaken = () => taken().reduce((sum, count) => sum + count, 0);

  it('is recorded, or counted as possibly sent, after a refusal longer than the lock', async () => {
    const line = await refusedBeyondLocks({});
    expect(await untilDone(line)).toBe(0);
    expect(await announced(line)).toEqual([NOTICES, 0]);
    const { notices } = await readPossiblySentTwice(redis.client, keysOf(line.prefix, 'default'));
    expect(notices).toBeGreaterThanOrEqual(timesTaken() - NOTICES);
  });

  it('is not sent again after a refusal longer than the lock, at-most-once', async () => {
    const line = await refusedBeyondLocks({ delivery: 'at-most-once' });
    await until(async () => (await announced(line)).reduce((a, b) => a + b) === NOTICES, {
      what: 'all to have ended',
      deadlineMs: 20_000,
    });
    expect(timesTaken()).toBe(NOTICES);
  });

  it('is found by the next worker after a refusal longer than the lock, of chunks', async () => {
    const service = await startEmulator();
    emulator = service;
    service.addFault({ on: 'send', latencyMs: LATENCY_MS });
    const line = await lines.line(service.url, { ...SHORT_LOCK, BATCH_CONCURRENCY: '20' });
    await line.addWorker();
    const { batch } = await line.queue.import(
      numbers(NOTICES).map((contact) => ({ contact })),
      { templateCode: 'ONCE', chunkSize: 1 },
    );
    await until(() => service.record().requests >= NOTICES, { what: 'all to be at the service' });
    await refusals.NOREPLICAS.begin();
    const keys = keysOf(line.prefix, 'default');
    await until(async () => (await redis.client.keys(keys.chunkLock('*'))).length === 0, {
      what: 'the locks to end',
    });
    await refusals.NOREPLICAS.end();
    const reader = new LedgerReader(redis.client, keys);
    const counts = await until(
      async () => {
        const found = await reader.read(batch);
        return found?.phase === 'finished' && found.counts;
      },
      { what: 'the batch to be finished', deadlineMs: 20_000 },
    );
    expect(counts).toMatchObject({ accepted: NOTICES, possiblySentTwice: 0 });
    expect(taken()).toEqual(Array.from({ length: NOTICES }, () => 1));
  });
});

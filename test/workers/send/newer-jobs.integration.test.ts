import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import type { BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { CHUNK_JOB_VERSION, chunkJobId } from '../../../src/contracts/chunk-job.ts';
import { NEWER_JOB_WAIT_MS, SEALED_JOB_VERSION } from '../../../src/contracts/job.ts';
import {
  attemptsEndedUnknown,
  possiblySentTraceIds,
} from '../../../src/contracts/possibly-sent.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { readNoticeEvents } from '../../support/events.ts';
import { readUnknown } from '../../../src/ops/unknown.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME, type Keys } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { room } from '../../service-coverage/support/line.ts';
import { until } from '../../support/wait.ts';

describe('a job of a later version', () => {
  const lines = room();
  const { redis } = lines;
  let emulator: Emulator;

  beforeEach(async () => {
    emulator = await startEmulator();
  });
  afterEach(() => emulator.close());

  const unready = (keys: Keys) =>
    until(
      async () =>
        (await readWorkers(redis.client, keys)).some(({ unready: reasons = [] }) =>
          reasons.some(({ reason }) => reason === 'newer-jobs'),
        ),
      { what: 'the worker to be unready' },
    );
  /** A day later, for a job that was returned: it is run again. */
  async function aDayLater(keys: Keys, name: Parameters<typeof openBullQueue>[0], id: string) {
    const queue = openBullQueue(name, redis.client, keys);
    const isDelayed = async () => (await queue.getJobState(id)) === 'delayed';
    await until(isDelayed, { what: 'its return' });
    const key = `${keys.bullPrefix}:${name}:${id}`;
    await redis.client.hincrby(key, 'notices:returned', -NEWER_JOB_WAIT_MS - 1);
    await (await queue.getJob(id))?.promote();
    await queue.close();
  }

  it.each([
    ['a notice', QUEUE_NAME, { v: SEALED_JOB_VERSION + 1, message: { to: ['0100'] } }],
    ['a chunk', CHUNK_QUEUE_NAME, { v: CHUNK_JOB_VERSION + 1, list: 'b', part: 0 }],
  ] as const)(
    'waits for an updated worker, and is refused after a day, %s',
    async (_, name, data) => {
      const line = await lines.line(emulator.url, { HEARTBEAT_MS: '100' });
      const keys = keysOf(line.prefix, 'default');
      const queue = openBullQueue(name, redis.client, keys);
      const { id = '' } = await queue.add('send', data);
      const stateOf = () => queue.getJobState(id);
      await until(async () => (await stateOf()) === 'delayed', { what: 'its return' });
      await unready(keys);
      const job = await queue.getJob(id);
      expect([job?.attemptsMade, job?.failedReason]).toEqual([0, undefined]);

      const key = `${keys.bullPrefix}:${name}:${id}`;
      await redis.client.hincrby(key, 'notices:returned', -NEWER_JOB_WAIT_MS - 1);
      await job?.promote();
      await until(async () => (await stateOf()) === 'failed', { what: 'its refusal' });
      expect(await redis.client.hget(key, 'failedReason')).toMatch(
        /^JOB_INVALID: .*version [23], this worker knows (?:1|up to 2)\./,
      );
      expect(emulator.record().requests).toBe(0);
      await queue.close();
    },
  );

  /** Contacts as a later version encodes or encrypts them. */
  const newer = Buffer.from([4, 1, 2, 3]);

  it('whose contacts alone have a later version waits in the same way, a notice', async () => {
    const line = await lines.line(emulator.url, { HEARTBEAT_MS: '100' });
    const keys = keysOf(line.prefix, 'default');
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    const sealed = { templateCode: 'T', contacts: 1, sealed: newer.toString('base64') };
    const { id = '' } = await queue.add('send', { v: SEALED_JOB_VERSION, notice: sealed });
    await unready(keys);
    await aDayLater(keys, QUEUE_NAME, id);
    await until(async () => (await queue.getJobState(id)) === 'failed', { what: 'its refusal' });
    expect(await redis.client.hget(keys.noticeJob(id), 'failedReason')).toMatch(
      /^PAYLOAD_UNREADABLE: .*unknown version 4/,
    );
    expect(emulator.record().requests).toBe(0);
    await queue.close();
  });

  const SENT = 'HTTP_500: HTTP 500 (trace ids t-1) (may have been taken: 1)';

  it.each([
    ['with the count of its attempts', SEALED_JOB_VERSION, {}, SENT, { possiblySent: 1 }],
    [
      'with an intent',
      SEALED_JOB_VERSION,
      { delivery: 'at-most-once' },
      undefined,
      { possiblySent: 1, delivery: 'at-most-once' },
    ],
    [
      'with an intent, of a later version',
      SEALED_JOB_VERSION + 1,
      { delivery: 'at-most-once' },
      undefined,
      { possiblySent: 1, delivery: 'at-most-once' },
    ],
    ['with no more than the count', SEALED_JOB_VERSION + 1, {}, SENT, undefined],
  ])(
    'that was possibly sent before stays unknown and is listed, %s',
    async (_, v, policy, failedReason, facts) => {
      const env = { HEARTBEAT_MS: '100', NOTICE_EVENTS: '100' };
      const { prefix, queue: application } = await lines.line(emulator.url, env);
      const keys = keysOf(prefix, 'default');
      const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
      const sealed = { templateCode: 'T', contacts: 1, sealed: newer.toString('base64') };
      const { id = '' } = await queue.add('send', { v, notice: sealed, ...policy });
      await unready(keys);
      if (failedReason !== undefined) await redis.client.hset(keys.noticeJob(id), { failedReason });
      else await redis.client.hset(keys.intents.open, id, '{"nonce":"of the dead"}');
      await aDayLater(keys, QUEUE_NAME, id);
      await until(async () => (await queue.getJobState(id)) === 'failed', { what: 'its end' });
      await queue.close();
      const ended = { failedReason: await redis.client.hget(keys.noticeJob(id), 'failedReason') };
      expect(attemptsEndedUnknown(ended)).toBe(attemptsEndedUnknown({ failedReason }));
      expect(possiblySentTraceIds(ended)).toEqual(possiblySentTraceIds({ failedReason }));
      expect(await application.get(id)).toMatchObject({ state: 'unknown' });
      expect(await readUnknown(redis.client, keys, [id])).toMatchObject(facts ? [facts] : []);
      const { events } = await readNoticeEvents(redis.client, keys, '0', 10);
      expect(events).toMatchObject([{ job: id, state: 'unknown' }]);
      expect(await redis.client.hlen(keys.intents.open)).toBe(0);
      expect(emulator.record().requests).toBe(0);
    },
  );

  it('whose contacts alone have a later version waits in the same way, a chunk', async () => {
    const line = await lines.line(emulator.url, { HEARTBEAT_MS: '100' });
    const keys = keysOf(line.prefix, 'default');
    const ledger = new Ledger(redis.client, keys);
    const queue = openBullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    await ledger.start('b', PLAN, 'fingerprint', NEWER_JOB_WAIT_MS);
    await ledger.store('b', { chunk: 0, size: 3, rows: 3, payload: newer });
    await ledger.endImport('b', 0, 0);
    await queueChunks(ledger, queue, 'b');
    await queue.close();
    const counts = async () => (await ledger.read('b'))?.counts;
    await unready(keys);
    const inFlight = () => redis.client.hlen(keys.batch('b').inflight);
    await until(async () => (await inFlight()) === 0, { what: 'the return of the chunk' });
    expect(await counts()).toMatchObject({ pending: 3, rejected: 0 });
    await aDayLater(keys, CHUNK_QUEUE_NAME, chunkJobId({ batch: 'b', chunk: 0 }));
    await until(async () => (await counts())?.rejected === 3, { what: 'its refusal' });
    expect(emulator.record().requests).toBe(0);
  });
});

const PLAN: BatchPlan = {
  frame: '{"templateCode":"T"}',
  templateCode: 'T',
  chunkSize: 3,
  delivery: 'at-least-once',
  expiresAt: 0,
  rate: 0,
  bisect: true,
};

import { describe, expect, it, onTestFinished } from 'vitest';
import { liftManualHold, placeManualHold } from '../../../../src/fleet/hold/current-hold.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../../src/redis/keys.ts';
import { openBullQueue } from '../../../../src/redis/open-queue.ts';
import { buildBatch, contacts } from '../../../batch/support/built-batch.ts';
import { testRedis } from '../../../support/redis.ts';
import { until } from '../../../support/wait.ts';
import { startWorkerInProcess } from '../../support/worker-in-process.ts';

const redis = testRedis();
const PLAN = { frame: '{"templateCode":"T","scheduleType":"DIRECTLY"}' };
const LONG = { deadlineMs: 30_000 };

/** A worker that bisects a chunk of 64 contacts, at the moment in which its first half is under way. */
async function halfWay() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(64)], { plan: PLAN });
  // The whole is refused; each part takes its time.
  const faults = [
    { on: 'send', status: 400, times: 1 },
    { on: 'send', latencyMs: 1_500 },
  ] as const;
  const worker = await startWorkerInProcess(redis.url, prefix, {}, { faults: [...faults] });
  onTestFinished(() => worker.stop());
  const { emulator } = worker;
  await until(() => emulator.faults()[1]?.fired === 1, { what: 'the first half', ...LONG });
  /** The counts once the chunk is settled; the second half has not been sent. */
  const settled = async () => {
    const { counts } = await until(
      async () => {
        const read = await batch.read();
        return read.counts.sending === 0 ? read : undefined;
      },
      { what: 'the settlement', ...LONG },
    );
    expect(emulator.record()).toMatchObject({ requests: 1, contacts: 32 });
    return counts;
  };
  const sentOnce = async () => {
    emulator.clearFaults();
    await until(async () => (await batch.read()).phase === 'finished', {
      what: 'the end',
      ...LONG,
    });
    expect((await batch.read()).counts).toMatchObject({ accepted: 64, possiblySentTwice: 0 });
    expect(emulator.record()).toMatchObject({ distinct: 64, twice: 0 });
  };
  return { keys, batch, settled, sentOnce };
}

describe('a bisection sends no further part', () => {
  it('after the batch was cancelled', async () => {
    const { batch, settled } = await halfWay();
    await batch.ledger.control('b', 'cancel');
    expect(await settled()).toMatchObject({ accepted: 32, cancelled: 32, unknown: 0 });
    expect(await batch.read()).toMatchObject({ phase: 'cancelled' });
  }, 60_000);

  it('after the batch was paused; the rest is sent when it is resumed', async () => {
    const { keys, batch, settled, sentOnce } = await halfWay();
    await batch.ledger.control('b', 'pause');
    expect(await settled()).toMatchObject({ accepted: 32, pending: 32 });
    const board = redis.connect({ name: 'board' });
    const queue = openBullQueue(CHUNK_QUEUE_NAME, board, keys);
    onTestFinished(() => queue.close());
    const left = async () => (await queue.getJobs(['waiting', 'active', 'delayed'])).length;
    await until(async () => (await left()) === 0, { what: 'the end of its job', ...LONG });
    await batch.ledger.control('b', 'resume');
    await sentOnce();
  }, 60_000);

  it('while the queue is held; the rest is sent when the hold is lifted', async () => {
    const { keys, settled, sentOnce } = await halfWay();
    await placeManualHold(redis.client, keys, 'a wrong list');
    expect(await settled()).toMatchObject({ accepted: 32, pending: 32 });
    await liftManualHold(redis.client, keys);
    await sentOnce();
  }, 60_000);

  it('after the deadline of the batch', async () => {
    const { keys, batch, settled } = await halfWay();
    await redis.client.hset(keys.batch('b').record, 'expiresAt', 1);
    expect(await settled()).toMatchObject({ accepted: 32 });
    await until(async () => (await batch.read()).phase === 'finished', {
      what: 'the end',
      ...LONG,
    });
    expect((await batch.read()).counts).toMatchObject({ accepted: 32, expired: 32 });
  }, 60_000);
});

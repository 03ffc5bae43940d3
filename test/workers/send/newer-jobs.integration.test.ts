import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHUNK_JOB_VERSION } from '../../../src/contracts/chunk-job.ts';
import { NEWER_JOB_WAIT_MS, SEALED_JOB_VERSION } from '../../../src/contracts/job.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import { CHUNK_QUEUE_NAME, keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
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
      await until(
        async () =>
          (await readWorkers(redis.client, keys)).some(({ unready = [] }) =>
            unready.some(({ reason }) => reason === 'newer-jobs'),
          ),
        { what: 'the worker to be unready' },
      );
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
});

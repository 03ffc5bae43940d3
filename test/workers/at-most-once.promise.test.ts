import { expect, it } from 'vitest';
import { unknownNotices } from '../support/unknown-notices.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

/** A dead worker's job is found after a second or two. */
const SHORT_LOCK = {
  LOCK_DURATION_MS: '4000',
  HEARTBEAT_MS: '500',
  SEND_DEADLINE_MS: '1900',
  ANSWER_TIMEOUT_MS: '1500',
  CONNECT_TIMEOUT_MS: '300',
  ISSUE_DEADLINE_MS: '1900',
};

it('a notice sent at most once: killed before its request it is sent later, killed after it is listed', async () => {
  const prefix = redis.freshPrefix();
  const source = { redis: redis.client, keys: keysOf(prefix, 'default') };
  const on = await fleetOn(redis, { prefix, env: SHORT_LOCK });
  const { emulator, queue } = on;
  const send = (contact: string) =>
    queue.send({ templateCode: 'ONCE', contacts: [{ contact }] }, { delivery: 'at-most-once' });
  const kill = async () => {
    const worker = on.workers.at(-1);
    worker?.kill('SIGKILL');
    await worker?.ended;
    await on.addWorker();
  };
  const [before = '', after = ''] = numbers(2);

  emulator.addFault({ on: 'token', hang: 'before-acting', times: 1 });
  await send(before);
  await until(() => emulator.faults()[0]?.fired === 1, { what: 'the worker to wait' });
  await kill();
  await until(() => emulator.record().distinct === 1, { what: 'the send', deadlineMs: 40_000 });
  expect(await unknownNotices(source)).toEqual([]);

  emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
  const { id } = await send(after);
  await until(() => emulator.record().distinct === 2, { what: 'the service to act' });
  await kill();
  const [listed] = await until(
    async () => {
      const unknown = await unknownNotices(source);
      return unknown.length > 0 && unknown;
    },
    { what: 'the notice to be listed', deadlineMs: 30_000 },
  );
  expect(listed).toMatchObject({
    id,
    template: 'ONCE',
    contacts: 1,
    code: 'OUTCOME_UNKNOWN',
    stage: 'started',
    delivery: 'at-most-once',
  });
  expect((await queue.get(id)).state).toBe('unknown');
  expect(emulator.record()).toMatchObject({ distinct: 2, twice: 0, requests: 2 });
}, 90_000);

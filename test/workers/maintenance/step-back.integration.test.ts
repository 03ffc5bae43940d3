import { expect, it, onTestFinished } from 'vitest';
import { readHold } from '../../../src/fleet/hold/holds.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { clockProxy } from '../../cli/account/support/clock-proxy.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { stepClockBack } from '../../support/step-back.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../support/worker-in-process.ts';

const HOUR_S = 3_600;

const redis = testRedis();

it('a hold ends in time although the clock of Redis goes back an hour', async () => {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  let aheadS = HOUR_S;
  const url = await clockProxy(redis.url, () => aheadS);
  const worker = await startWorkerInProcess(url, prefix, { HEARTBEAT_MS: '200' });
  onTestFinished(() => worker.stop());
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  worker.emulator.addFault({ on: 'send', status: 402, times: 1 });
  await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
  await until(async () => (await readHold(redis.client, keys))?.kind === 'credit', {
    what: 'the hold',
  });
  await stepClockBack(redis.client, keys, HOUR_S * 1_000);
  aheadS = 0;
  await until(() => worker.emulator.record().contacts === 1, {
    what: 'the notice',
    deadlineMs: 15_000,
  });
  const said = worker.lines.find(({ event }) => event === 'clock-back');
  expect(Math.abs(Number(said?.['backMs']) - HOUR_S * 1_000)).toBeLessThan(5_000);
  const isLifted = async () => (await readHold(redis.client, keys)) === undefined;
  expect(await until(isLifted, { what: 'the end of the hold' })).toBe(true);
}, 60_000);

it('a hold ends in time although the clock went back while no worker ran', async () => {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  const before = await startWorkerInProcess(redis.url, prefix);
  before.emulator.addFault({ on: 'send', status: 402, times: 1 });
  await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
  await until(async () => (await readHold(redis.client, keys))?.kind === 'credit', {
    what: 'the hold',
  });
  await before.stop();
  await stepClockBack(redis.client, keys, HOUR_S * 1_000);
  const delayed = keys.noticesIn('delayed');
  for (const id of await redis.client.zrange(delayed, '0', '-1'))
    await redis.client.zincrby(delayed, HOUR_S * 1_000 * 0x1000, id);
  const worker = await startWorkerInProcess(redis.url, prefix);
  onTestFinished(() => worker.stop());
  const isSent = () => worker.emulator.record().contacts === 1;
  expect(await until(isSent, { what: 'the notice', deadlineMs: 15_000 })).toBe(true);
}, 60_000);

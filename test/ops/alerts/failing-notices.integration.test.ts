import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/index.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { startReceiver } from './support/receiver.ts';

const redis = testRedis();

it('single notices that are rejected, unknown or expired raise an alert, with their numbers', async () => {
  const prefix = redis.freshPrefix();
  const receiver = await startReceiver();
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  const notice = (contact: string) => ({ templateCode: 'ORDER', contacts: [{ contact }] });
  const expiresAt = Date.now() + 200;
  const late = await queue.send(notice('01000000001'), { expiresAt });
  await until(() => Date.now() > expiresAt, { what: 'the deadline' });
  const worker = await startWorkerInProcess(
    redis.url,
    prefix,
    {
      ALERT_WEBHOOK_URL: receiver.url,
      ALERT_WEBHOOK_SECRET: 'a secret of sixteen',
      ALERT_FAILED_NOTICES: '4',
      ALERT_FAILED_PERCENT: '0',
      HEARTBEAT_MS: '500',
    },
    {
      rejectContacts: ['01000000002'],
      faults: [{ on: 'send', containing: '01000000003', reset: 'after-acting' }],
    },
  );
  onTestFinished(() => worker.stop());
  await queue.send(notice('01000000002'));
  await queue.send(notice('01000000003'), { delivery: 'at-most-once' });
  await until(async () => (await queue.get(late.id)).state === 'expired', { what: 'the expiry' });
  const failing = () => receiver.received.find(({ alert }) => alert.event === 'notices.failing');
  // One fewer than the limit.
  await until(() => receiver.names().includes('unknown.appeared'), {
    what: 'a round after the ends',
    deadlineMs: 30_000,
  });
  expect(failing()).toBeUndefined();
  await queue.send(notice('01000000002'));
  const { alert } = await until(failing, { what: 'the alert', deadlineMs: 30_000 });
  expect(alert.data).toEqual({ accepted: 0, rejected: 2, unknown: 1, expired: 1 });
  expect(JSON.stringify(alert)).not.toMatch(/0100000000\d/);
}, 90_000);

import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/index.ts';
import { liftManualHold, placeManualHold } from '../../../src/fleet/hold/current-hold.ts';
import type { EndedNotice } from '../../../src/ops/alerts/alert-event.ts';
import { appendNoticeEvent } from '../../../src/notices/notice-events.ts';
import { Outbox } from '../../../src/ops/alerts/outbox.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { startReceiver, type Receiver } from './support/receiver.ts';

const redis = testRedis();
const WAIT = { deadlineMs: 30_000 };
const SECRET = 'a secret of sixteen';
const NUMBER = /0100000000\d/;

const notice = (contact = '01000000001') => ({ templateCode: 'ORDER', contacts: [{ contact }] });

/** A queue, a receiver of events, and workers that post to it. */
async function world(more: Record<string, string> = {}) {
  const prefix = redis.freshPrefix();
  const receiver = await startReceiver();
  const queue = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
  onTestFinished(() => queue.close());
  const start = async () => {
    const env = {
      NOTICE_EVENTS: '100000',
      EVENT_WEBHOOK_URL: receiver.url,
      EVENT_WEBHOOK_SECRET: SECRET,
      ...more,
    };
    const worker = await startWorkerInProcess(redis.url, prefix, env, {
      rejectContacts: ['01000000002'],
    });
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= worker.stop());
    onTestFinished(stop);
    return { ...worker, stop };
  };
  const keys = keysOf(prefix, 'default');
  const outbox = new Outbox(redis.client, keys.events);
  return { prefix, keys, queue, receiver, start, outbox };
}

/** The ends that arrived, without the repetitions of a post. */
function endsAt({ received }: Pick<Receiver, 'received'>): EndedNotice[] {
  const byId = new Map(received.map(({ alert }) => [alert.id, alert]));
  return [...byId.values()].flatMap(({ event, data }) =>
    event === 'notices.ended' ? (data['notices'] as EndedNotice[]) : [],
  );
}

/** Waits until the leader forwards ends: the first round sets where it begins. */
const untilForwarding = (keys: ReturnType<typeof keysOf>) =>
  until(() => redis.client.exists(keys.events.forwarded), { what: 'the first round', ...WAIT });

describe('the event webhook', () => {
  it('gets the end of each notice within a second, of batches and of holds, signed, without numbers', async () => {
    const { keys, queue, receiver, start } = await world();
    await start();
    await untilForwarding(keys);
    const { id } = await queue.send(notice('01000000002'), { idempotencyKey: 'order-1' });
    await until(() => endsAt(receiver).length === 1, { what: 'the end', ...WAIT });
    const arrivedAt = Date.now();
    const [end] = endsAt(receiver);
    expect(end).toEqual({
      notice: id,
      state: 'rejected',
      code: expect.any(String) as string,
      at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    });
    expect(arrivedAt - Date.parse(end?.at ?? '')).toBeLessThan(1_000);
    const post = receiver.received[0];
    expect(post?.headers['notices-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(post?.headers['notices-alert-id']).toBe(post?.alert.id);

    await queue.import([{ contact: '01000000003' }], { templateCode: 'T', batchId: 'autumn' });
    await until(() => receiver.names().includes('batch.finished'), { what: 'the batch', ...WAIT });
    const placedAt = Date.now();
    await placeManualHold(redis.client, keys, 'CANARY of a reason');
    await until(() => receiver.names().includes('hold.begun'), { what: 'the hold', ...WAIT });
    // A round of alerts takes place every five seconds.
    expect(Date.now() - placedAt).toBeLessThan(2_500);
    await liftManualHold(redis.client, keys);
    await until(() => receiver.names().includes('hold.ended'), { what: 'its end', ...WAIT });
    expect(new Set(receiver.names())).toEqual(
      new Set(['notices.ended', 'batch.finished', 'hold.begun', 'hold.ended']),
    );
    const bodies = receiver.received.map(({ body }) => body).join();
    expect(bodies).not.toMatch(NUMBER);
    expect(bodies).not.toContain('CANARY');
  }, 60_000);

  it('after an outage nothing is missing and the order holds, also across a restart of the workers', async () => {
    const { keys, queue, receiver, start, outbox } = await world();
    receiver.answer(503);
    const first = await start();
    await untilForwarding(keys);
    const ids: string[] = [];
    const send = async () => {
      const { id } = await queue.send(notice());
      ids.push(id);
      await until(async () => (await queue.get(id)).state === 'accepted', { what: id, ...WAIT });
    };
    for (let count = 0; count < 5; count++) await send();
    await until(() => receiver.received.length > 1, { what: 'a second try', ...WAIT });
    await first.stop();
    expect(await outbox.waiting()).toBeGreaterThan(0);
    await start();
    for (let count = 0; count < 5; count++) await send();
    receiver.answer(204);
    await until(async () => (await outbox.waiting()) === 0 && endsAt(receiver).length >= 10, {
      what: 'all to be posted',
      ...WAIT,
    });
    expect(endsAt(receiver).map((end) => end.notice)).toEqual(ids);
  }, 90_000);

  it('that never answers delays neither the alerts nor the sends', async () => {
    const alerts = await startReceiver();
    const { keys, queue, receiver, start } = await world({
      ALERT_WEBHOOK_URL: alerts.url,
      ALERT_WEBHOOK_SECRET: SECRET,
    });
    // Never answered.
    receiver.answer(() => {});
    const worker = await start();
    await untilForwarding(keys);
    const { id } = await queue.send(notice());
    await until(() => receiver.received.length > 0, { what: 'a post', ...WAIT });
    await placeManualHold(redis.client, keys, 'why');
    await until(() => alerts.names().includes('hold.begun'), { what: 'the alert', ...WAIT });
    expect((await queue.get(id)).state).toBe('accepted');
    // It has a deadline, and is tried again.
    await until(() => receiver.received.length > 1, { what: 'the next try', ...WAIT });
    expect(alerts.names()).not.toContain('notices.ended');
    await worker.stop();
    expect(await redis.client.exists(keys.alerts.lease)).toBe(0);
  }, 90_000);

  it('learns that ends were deleted before they were forwarded', async () => {
    const { keys, queue, receiver, start } = await world();
    const first = await start();
    await untilForwarding(keys);
    await queue.send(notice());
    await until(() => endsAt(receiver).length === 1, { what: 'the first end', ...WAIT });
    await first.stop();
    await redis.client.xtrim(keys.noticeEvents, 'MAXLEN', 0);
    await start();
    await queue.send(notice());
    await until(() => endsAt(receiver).length === 2, { what: 'the second end', ...WAIT });
    const data = receiver.received.map(({ alert }) => alert.data['missed']);
    expect(data).toEqual([undefined, true]);
  }, 60_000);

  it('of a long outage gets all ends in their order, many in a post, before and after a restart', async () => {
    const { keys, receiver, start, outbox } = await world();
    receiver.answer(500);
    const first = await start();
    await untilForwarding(keys);
    const write = async (from: number, count: number) => {
      const writes = Array.from({ length: count }, (_, index) => {
        const id = `n-${from + index}`;
        const entry = { job: id, notice: id, state: 'accepted', code: '' } as const;
        return appendNoticeEvent(redis.client, keys, entry, 100_000);
      });
      await Promise.all(writes);
    };
    await write(0, 10_000);
    await until(async () => (await outbox.waiting()) >= 20, { what: 'the outbox', ...WAIT });
    await first.stop();
    await write(10_000, 5_000);
    await start();
    receiver.answer(204);
    await until(() => endsAt(receiver).length >= 15_000, { what: 'all ends', ...WAIT });
    expect(endsAt(receiver).map((end) => end.notice)).toEqual(
      Array.from({ length: 15_000 }, (_, index) => `n-${index}`),
    );
    expect(new Set(receiver.received.map(({ alert }) => alert.id)).size).toBeLessThan(100);
  }, 90_000);
});

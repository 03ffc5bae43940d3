import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NoticeQueue } from 'notice-queue';
import { FakeNoticeQueue, startTestStack, waitFor } from 'notice-queue/testing';
import { createApp } from './app.js';

const shipped = (app, order, phone) =>
  app.inject({ method: 'POST', url: `/orders/${order}/shipped`, payload: { phone } });

it('says what is wrong with the input, and when to come again', async (test) => {
  const notices = new FakeNoticeQueue();
  const app = createApp({ notices });
  test.after(() => app.close());
  assert.equal((await shipped(app, '1', 'none')).statusCode, 400);
  notices.failNext('QUEUE_UNAVAILABLE');
  assert.equal((await shipped(app, '1', '01012345678')).statusCode, 503);
  assert.equal((await shipped(app, '1', '01012345678')).statusCode, 202);
  assert.equal(notices.sent.length, 1);
});

it('sends from end to end; closing the application closes the queue', async (test) => {
  const redis = { url: process.env.REDIS_URL };
  const stack = await startTestStack({ redis });
  test.after(() => stack.stop());
  const notices = NoticeQueue.fromEnv({ redis, prefix: stack.prefix });
  const app = createApp({ notices });
  const { id } = (await shipped(app, '1001', '01012345678')).json();
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  await app.close();
  await assert.rejects(notices.ready(), { code: 'QUEUE_CLOSED' });
});

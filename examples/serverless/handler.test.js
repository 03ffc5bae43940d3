import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NoticeQueue } from 'notice-queue';
import { FakeNoticeQueue, startTestStack, waitFor } from 'notice-queue/testing';
import { createHandler } from './handler.js';

const event = { id: 'event-1', order: '1001', phone: '01012345678' };

it('is called again after a failure that may pass, and not for bad input', async () => {
  const notices = new FakeNoticeQueue();
  const handler = createHandler(() => notices);
  notices.failNext('QUEUE_UNAVAILABLE');
  await assert.rejects(handler(event), { code: 'QUEUE_UNAVAILABLE' });
  assert.equal((await handler(event)).statusCode, 202);
  assert.equal((await handler({ ...event, id: 'event-2', phone: 'none' })).statusCode, 400);
});

it('an event that is delivered twice, to two instances, is one notice', async (test) => {
  const redis = { url: process.env.REDIS_URL };
  const stack = await startTestStack({ redis });
  const opened = [];
  const open = () => {
    opened.push(NoticeQueue.fromEnv({ redis, prefix: stack.prefix }));
    return opened.at(-1);
  };
  test.after(async () => {
    for (const notices of opened) await notices.close();
    await stack.stop();
  });
  const answers = [];
  for (const handler of [createHandler(open), createHandler(open)]) {
    answers.push(JSON.parse((await handler(event)).body));
  }
  assert.equal(answers[0].id, answers[1].id);
  assert.deepEqual([answers[0].duplicate, answers[1].duplicate], [false, true]);
  const { id } = answers[0];
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  assert.equal(stack.emulator.record().contacts, 1);
});

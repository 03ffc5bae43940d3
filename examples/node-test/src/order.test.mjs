import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestStack, waitFor } from 'notice-queue/testing';
import { orderShipped } from './order.js';

it('reaches the customer once, also where the service fails at first', async (test) => {
  const stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
  test.after(() => stack.stop());
  stack.emulator.addFault({ on: 'send', status: 503, times: 1 });
  const { id } = await orderShipped(stack.notices, '1001', '01012345678');
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  assert.equal(stack.emulator.details()[0].contact, '01012345678');
});

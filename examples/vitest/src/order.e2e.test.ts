import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestStack, waitFor, type TestStack } from 'notice-queue/testing';
import { orderShipped } from './order.js';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
});
afterAll(() => stack.stop());

it('reaches the customer once, also where the service fails at first', async () => {
  stack.emulator.addFault({ on: 'send', status: 503, times: 1 });
  const { id } = await orderShipped(stack.notices, '1001', '01012345678');
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  expect(stack.emulator.details()).toMatchObject([{ contact: '01012345678' }]);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NoticeQueue } from 'notice-queue';
import { orderShipped } from './order.js';

it('queues one notice for each order', async () => {
  const notices = NoticeQueue.fromEnv();
  const first = await orderShipped(notices, '1002', '01012345678');
  const again = await orderShipped(notices, '1002', '01012345678');
  assert.deepEqual(again, { ...first, duplicate: true });
  await notices.close();
});

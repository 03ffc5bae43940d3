const assert = require('node:assert/strict');
const { it } = require('node:test');
const { NoticeQueue } = require('notice-queue');
const { orderShipped } = require('./order.js');

it('queues one notice for each order', async () => {
  const notices = NoticeQueue.fromEnv();
  const first = await orderShipped(notices, '1001', '01012345678');
  const again = await orderShipped(notices, '1001', '01012345678');
  assert.deepEqual(again, { ...first, duplicate: true });
  await notices.close();
});

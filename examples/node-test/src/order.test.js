const assert = require('node:assert/strict');
const { it } = require('node:test');
const { FakeNoticeQueue } = require('notice-queue/testing');
const { orderShipped } = require('./order.js');

it('queues one notice for each order', async () => {
  const notices = new FakeNoticeQueue();
  await orderShipped(notices, '1001', '01012345678');
  await orderShipped(notices, '1001', '01012345678');
  assert.deepEqual(
    notices.sent.map(({ notice }) => notice.contacts[0].var1),
    ['1001'],
  );
});

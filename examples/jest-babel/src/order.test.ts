import { FakeNoticeQueue } from 'notice-queue/testing';
import { orderShipped } from './order';

it('queues one notice for each order', async () => {
  const notices = new FakeNoticeQueue();
  await orderShipped(notices, '1001', '01012345678');
  await orderShipped(notices, '1001', '01012345678');
  expect(notices.sent).toMatchObject([{ notice: { contacts: [{ var1: '1001' }] } }]);
});

import { NoticeQueue } from 'notice-queue';
import { orderShipped } from './order';

it('queues one notice for each order', async () => {
  const notices = NoticeQueue.fromEnv();
  const first = await orderShipped(notices, '1001', '01012345678');
  const again = await orderShipped(notices, '1001', '01012345678');
  expect(again).toEqual({ ...first, duplicate: true });
  await notices.close();
});

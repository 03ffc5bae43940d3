import type { NoticeQueue } from 'notice-queue';

/** What an application does with a queue. */
export async function orderShipped(notices: NoticeQueue, order: string, phone: string) {
  return notices.send(
    { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: phone, var1: order }] },
    { idempotencyKey: `order-${order}-shipped` },
  );
}

import type { Notices } from 'notice-queue';

export const orderShipped = (notices: Notices, order: string, phone: string) =>
  notices.send(
    { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: phone, var1: order }] },
    { idempotencyKey: `order-${order}-shipped` },
  );

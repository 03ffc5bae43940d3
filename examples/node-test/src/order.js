exports.orderShipped = (notices, order, phone) =>
  notices.send(
    { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: phone, var1: order }] },
    { idempotencyKey: `order-${order}-shipped` },
  );

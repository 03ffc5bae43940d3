const express = require('express');

/** @param {import('notice-queue').Notices} notices */
exports.createApp = (notices) => {
  const app = express();
  app.use(express.json());

  app.post('/orders/:order/shipped', async (request, response) => {
    const { order } = request.params;
    const { id, duplicate } = await notices.send(
      { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: request.body.phone, var1: order }] },
      { idempotencyKey: `order-${order}-shipped` },
    );
    response.status(202).json({ id, duplicate });
  });

  app.get('/readyz', async (request, response) => {
    await notices.ready();
    response.json({ ready: true });
  });

  // Express 5 passes what an async handler throws to here.
  app.use((error, request, response, next) => {
    if (error.code === 'NOTICE_INVALID') {
      response.status(400).json({ code: error.code, issues: error.issues });
    } else if (error.retryable) {
      response.status(503).set('Retry-After', '5').json({ code: error.code });
    } else next(error);
  });
  return app;
};

import fastify from 'fastify';
import { noticeQueue } from './notice-queue.js';

const schema = {
  body: { type: 'object', required: ['phone'], properties: { phone: { type: 'string' } } },
};

export function createApp(options = {}) {
  const app = fastify();
  app.register(noticeQueue, options);

  app.post('/orders/:order/shipped', { schema }, async (request, reply) => {
    const { order } = request.params;
    const notice = {
      templateCode: 'ORDER_SHIPPED',
      contacts: [{ contact: request.body.phone, var1: order }],
    };
    reply.code(202);
    return app.notices.send(notice, { idempotencyKey: `order-${order}-shipped` });
  });

  app.setErrorHandler((error, request, reply) => {
    if (error.code === 'NOTICE_INVALID') return reply.code(400).send({ issues: error.issues });
    if (error.retryable) return reply.code(503).header('Retry-After', '5').send(error.code);
    return reply.send(error);
  });
  return app;
}

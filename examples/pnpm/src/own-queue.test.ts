import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Notices } from 'notice-queue';
import { startTestStack, waitFor } from 'notice-queue/testing';

function orders(connection: Redis, prefix: string, notices: Notices) {
  const queue = new Queue<{ phone: string }>('orders', { connection, prefix });
  const worker = new Worker<{ phone: string }>(
    'orders',
    async ({ id, data }) => {
      const notice = { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: data.phone }] };
      const receipt = await notices.send(notice, { idempotencyKey: `order-${id}` });
      return receipt.id;
    },
    { connection, prefix },
  );
  return { queue, worker };
}

it('a job of the application queues a notice', async (test) => {
  const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const stack = await startTestStack({ redis: { url } });
  const { queue, worker } = orders(connection, stack.prefix, stack.notices);
  test.after(async () => {
    await worker.close();
    await queue.close();
    await stack.stop();
    await connection.quit();
  });
  await queue.add('ship', { phone: '01012345678' });
  await waitFor(() => stack.emulator.record().contacts === 1);
});

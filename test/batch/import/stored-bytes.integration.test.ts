import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { contactAt } from '../../../bench/work.ts';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { NoticeQueue } from '../../../src/index.ts';
import { connectionAs } from '../../support/redis-users.ts';

const CONTACTS = 100_000;

function* contacts(count: number, from: number) {
  for (let index = from; index < from + count; index++) yield contactAt(index);
}

/** Its own server: only the bytes of this test are counted. */
it.each([
  ['', 0, 20],
  [', and 4 more until REPEAT_WINDOW is over', 604_800_000, 24.2],
])(
  'a waiting contact with random data takes at most 20 bytes of Redis, as the report states%s',
  async (_, repeatWindowMs, most) => {
    const server = await startRedisServer();
    const redis = new Redis(server.url);
    const queue = new NoticeQueue({
      redis: connectionAs('application', server.url),
      payloadKey: '42'.repeat(32),
      repeatWindowMs,
    });
    // Without the buffers of connections, which Redis frees at a time of its own.
    const used = async () => {
      const [memory, clients] = (await redis.multi().info('memory').client('LIST').exec()) ?? [];
      const buffers = String(clients?.[1]).matchAll(/ tot-mem=(\d+)/g);
      let bytes = Number(/used_memory:(\d+)/.exec(String(memory?.[1]))?.[1]);
      for (const [, buffer] of buffers) bytes -= Number(buffer);
      return bytes;
    };
    const options = { templateCode: 'T', chunkSize: 1_000 };
    try {
      // Connections, scripts and what else Redis holds once for all are there by then.
      await queue.import(contacts(10_000, CONTACTS), options);
      const before = await used();
      const { bytes } = await queue.import(contacts(CONTACTS, 0), options);
      const taken = (await used()) - before;
      expect(taken / CONTACTS).toBeLessThanOrEqual(most);
      if (repeatWindowMs > 0) return;
      expect(bytes / taken).toBeGreaterThan(0.9);
      expect(bytes / taken).toBeLessThan(1.1);
    } finally {
      await queue.close();
      redis.disconnect();
      await server.close();
    }
  },
);

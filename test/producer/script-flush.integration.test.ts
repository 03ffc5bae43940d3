import { expect, it } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { contacts, waitingIds } from './support/stored-jobs.ts';

const redis = testRedis();

it('a Redis that loses its scripts again and again (SCRIPT FLUSH): every notice is queued once', async () => {
  const server = await startRedisServer();
  const client = redis.connect().duplicate({ host: '127.0.0.1', port: server.port, db: 0 });
  const prefix = 'flushed';
  const queue = new NoticeQueue({ redis: connectionAs('producer', server.url), prefix });
  try {
    const notice = { templateCode: 'T', contacts: contacts(1) };
    const calls = [];
    for (let round = 0; round < 100; round++) {
      for (let call = 0; call < 10; call++) {
        calls.push(queue.send(notice), queue.send(notice, { delay: 60_000 }));
      }
      await Promise.all([client.script('FLUSH'), client.script('FLUSH')]);
    }
    const ids = (await Promise.all(calls)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(2_000);
    expect(await waitingIds(client, prefix)).toHaveLength(1_000);
    expect(await client.zcard(keysOf(prefix, 'default').noticesIn('delayed'))).toBe(1_000);
  } finally {
    await queue.close();
    client.disconnect();
    await server.close();
  }
});

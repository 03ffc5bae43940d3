import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { connectionAs } from '../support/redis-users.ts';
import { contacts, waitingIds } from './support/stored-jobs.ts';
import { ownRedis } from '../support/own-redis.ts';

it('a Redis that loses its scripts again and again (SCRIPT FLUSH): every notice is queued once', async () => {
  const { client, url } = await ownRedis();
  const prefix = 'flushed';
  const queue = new NoticeQueue({ redis: connectionAs('producer', url), prefix });
  onTestFinished(() => queue.close());
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
});

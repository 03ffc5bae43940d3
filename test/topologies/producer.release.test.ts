import { setTimeout } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { startCluster } from './servers.ts';

const CALLS = 5_000;

it('on a Redis Cluster whose nodes drop their connections, a producer queues each notice once', async () => {
  const servers = await startCluster();
  onTestFinished(() => servers.close());
  const nodes = (servers.env['REDIS_CLUSTER'] ?? '').split(',').map((address) => {
    const [host = '', port] = address.split(':');
    return { host, port: Number(port) };
  });
  const queue = new NoticeQueue({ redis: { cluster: nodes }, enqueueTimeoutMs: 10_000 });
  onTestFinished(() => queue.close());
  const cluster = new Cluster(nodes);
  onTestFinished(() => cluster.disconnect());
  const admins = nodes.map((node) => new Redis({ ...node, enableReadyCheck: false }));
  onTestFinished(() => admins.forEach((admin) => admin.disconnect()));

  const notice = { templateCode: 'T', contacts: [{ contact: '01000000000' }] };
  await queue.send(notice);
  const ended = new AbortController();
  let killed = 0;
  const killing = (async () => {
    while (!ended.signal.aborted) {
      for (const admin of admins) {
        killed += Number(await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
      }
      await setTimeout(200);
    }
  })();
  const sends = Array.from({ length: CALLS }, () => queue.send(notice));
  const results = await Promise.allSettled(sends);
  ended.abort();
  await killing;
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(killed).toBeGreaterThan(2);
  expect(await cluster.llen('{notices:default}:send:wait')).toBe(1 + CALLS);
}, 120_000);

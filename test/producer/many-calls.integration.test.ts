import { execFileSync } from 'node:child_process';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue, NoticeQueueError, type NoticeQueueOptions } from '../../src/index.ts';
import { until } from '../support/wait.ts';
import { waitingIds } from './support/stored-jobs.ts';
import { connectionAs } from '../support/redis-users.ts';
import { ownRedis } from '../support/own-redis.ts';

const PREFIX = 'many-calls';

/** A Redis, which the test may freeze, and a queue that is connected. */
async function open(options: NoticeQueueOptions = {}) {
  const { client, server } = await ownRedis();
  const queue = new NoticeQueue({
    prefix: PREFIX,
    redis: connectionAs('producer', server.url),
    ...options,
  });
  onTestFinished(() => queue.close());
  // The time limits of these tests are too short for a first connection on a busy machine.
  const first = () => queue.send(NOTICE, { idempotencyKey: 'first' }).catch(() => undefined);
  await until(first, { what: 'the connection', deadlineMs: 20_000 });
  return { server, queue, client };
}

const NOTICE = { templateCode: 'T', contacts: [{ contact: '01000000000' }] };

const sends = (queue: NoticeQueue, count: number) =>
  Promise.allSettled(Array.from({ length: count }, () => queue.send(NOTICE)));

/** Messages of the calls that failed. */
function messages(results: readonly PromiseSettledResult<unknown>[]): string[] {
  return results.flatMap((result) => {
    if (result.status === 'fulfilled') return [];
    expect(result.reason).toBeInstanceOf(NoticeQueueError);
    expect((result.reason as NoticeQueueError).code).toBe('QUEUE_UNAVAILABLE');
    return [(result.reason as Error).message];
  });
}

/** How many connections Redis has accepted. */
async function connectionsOf(client: Redis): Promise<number> {
  const [, count] = /total_connections_received:(\d+)/.exec(await client.info('stats')) ?? [];
  return Number(count);
}

/** Keeps the event loop busy, as an application that computes, until so many jobs wait: Redis has answered their calls. */
function block(url: string, jobs: number): void {
  const code = `
    const redis = new (require('ioredis').Redis)('${url}');
    const look = async () => {
      while ((await redis.llen('{${PREFIX}:default}:send:wait')) < ${jobs});
      redis.disconnect();
    };
    setTimeout(look, 1_000);`;
  execFileSync(process.execPath, ['--eval', code], { timeout: 20_000 });
}

describe('more calls at once than Redis answers within the time limit', () => {
  it('20,000 send() calls in one Promise.all are all queued', async () => {
    const { queue, client } = await open();
    const results = await sends(queue, 20_000);
    expect(messages(results)).toEqual([]);
    expect(await waitingIds(client, PREFIX)).toHaveLength(20_001);
  }, 120_000);

  it('frozen Redis: all fail in time, and those that were never written name that nothing was queued', async () => {
    const { server, queue, client } = await open({ enqueueTimeoutMs: 1_000 });
    await server.kill('SIGSTOP');
    const startedAt = performance.now();
    const failed = messages(await sends(queue, 3_000));
    expect(performance.now() - startedAt).toBeLessThan(6_000);
    expect(failed).toHaveLength(3_000);
    const possibly = failed.filter((text) => text.includes('may or may not have been queued'));
    const surely = failed.filter((text) => text.includes('; nothing was queued'));
    expect(possibly.length + surely.length).toBe(3_000);
    expect(possibly.length).toBeLessThanOrEqual(1_000);

    await server.kill('SIGCONT');
    await until(() => queue.send(NOTICE).catch(() => undefined), { what: 'a call that succeeds' });
    expect((await waitingIds(client, PREFIX)).length).toBeLessThanOrEqual(2 + possibly.length);
  }, 60_000);
});

describe('a process that blocks its event loop', () => {
  it('for longer than the time limit: the answer that has arrived counts', async () => {
    const { server, queue, client } = await open({ enqueueTimeoutMs: 200 });
    const opened = await connectionsOf(client);
    const sending = queue.send(NOTICE);
    // The command is written; its answer is not read while the loop is blocked.
    setImmediate(() => block(server.url, 2));
    expect(await sending).toMatchObject({ duplicate: false });
    expect(await waitingIds(client, PREFIX)).toHaveLength(2);
    // One of what looked: it did not come by a repetition on another connection.
    expect(await connectionsOf(client)).toBe(opened + 1);
  });
});

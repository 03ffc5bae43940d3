import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { run, start } from '../cli/support/run.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';

const PREFIX = 'follow';
const KEYS = keysOf(PREFIX, 'default');
const NOTHING = { done: true, value: undefined };

/** A server whose role a test changes, and a queue on it. */
async function world(args: readonly string[] = []) {
  const server = await startRedisServer({ args });
  onTestFinished(() => server.close());
  const admin = new Redis(server.url, { maxRetriesPerRequest: 1 });
  onTestFinished(() => admin.disconnect());
  const queue = new NoticeQueue({
    redis: connectionAs('application', server.url),
    prefix: PREFIX,
  });
  onTestFinished(() => queue.close());
  const numberIn = async (section: string, pattern: RegExp) =>
    Number(pattern.exec(await admin.info(section))?.[1] ?? 0);
  return {
    server,
    admin,
    queue,
    /** Waits until so many readers block on a stream. */
    blocked: (count: number) =>
      until(async () => (await numberIn('clients', /\nblocked_clients:(\d+)/)) === count, {
        what: `${count} readers that wait`,
        deadlineMs: 20_000,
      }),
    /** Waits until Redis has replied so often with this error. */
    refused: (code: string, count: number) => {
      const pattern = new RegExp(`errorstat_${code}:count=(\\d+)`);
      return until(async () => (await numberIn('errorstats', pattern)) >= count, {
        what: `${count} replies ${code}`,
        deadlineMs: 20_000,
      });
    },
    noticeEnds: (job: string) =>
      admin.xadd(KEYS.events, '*', 'job', job, 'notice', job, 'state', 'accepted'),
    batchEnds: (batch: string) =>
      admin.xadd(KEYS.events, '*', 'event', 'batch.finished', 'batch', batch),
  };
}

describe('an iteration over events', () => {
  it('goes on after its server became a replica and a master again', async () => {
    const { admin, queue, blocked, noticeEnds, batchEnds } = await world();
    const [ends, others] = [queue.events({ from: '0' }), queue.events({ from: '0' })];
    await noticeEnds('n-1');
    for (const one of [ends, others]) {
      expect((await one.next()).value).toMatchObject({ notice: 'n-1' });
    }
    const [end, other] = [ends.next(), others.next()];
    await blocked(2);
    await admin.replicaof('127.0.0.1', 1);
    await blocked(2);
    await admin.replicaof('NO', 'ONE');
    await noticeEnds('n-2');
    await batchEnds('b-2');
    expect((await end).value).toMatchObject({ notice: 'n-2' });
    expect((await other).value).toMatchObject({ notice: 'n-2' });
    expect((await ends.next()).value).toMatchObject({ batch: 'b-2' });
    await Promise.all([ends.return(), others.return()]);
  });

  it('waits while its server refuses reads for a reason that passes, and ends at once when it is told to', async () => {
    const stop = new AbortController();
    const { admin, queue, blocked, refused, noticeEnds } = await world([
      '--replica-serve-stale-data',
      'no',
    ]);
    const [ends, stopped] = [
      queue.events({ from: '0' }),
      queue.events({ from: '0', signal: stop.signal }),
    ];
    const [end, none] = [ends.next(), stopped.next()];
    await blocked(2);
    await admin.replicaof('127.0.0.1', 1);
    await refused('MASTERDOWN', 5);
    stop.abort();
    expect(await none).toEqual(NOTHING);
    await admin.replicaof('NO', 'ONE');
    await noticeEnds('n-1');
    expect((await end).value).toMatchObject({ notice: 'n-1' });
    await ends.return();
  });

  it('ends with an error that does not pass by itself', async () => {
    const { admin, queue, blocked } = await world();
    const ends = queue.events({ from: '0' });
    const failure = ends.next().catch((error: unknown) => error);
    await blocked(1);
    await admin.call('ACL', 'SETUSER', 'default', '-xread');
    // The reader that waits is let go by the change of the role, and asks again.
    await admin.replicaof('127.0.0.1', 1);
    expect(await failure).toMatchObject({
      code: 'QUEUE_REFUSED',
      message: expect.stringContaining('lacks a permission') as string,
    });
  });
});

describe('notices events --follow', () => {
  it('goes on after its server became a replica and a master again', async () => {
    const { server, admin, blocked, noticeEnds } = await world();
    const env = { REDIS_URL: server.url, REDIS_PREFIX: PREFIX };
    const following = start(['events', '--follow', '--limit', '1', '--json'], env);
    await blocked(1);
    await admin.replicaof('127.0.0.1', 1);
    await blocked(1);
    await admin.replicaof('NO', 'ONE');
    await noticeEnds('n-1');
    const { code, stdout } = await following.ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('"n-1"')]);
    expect((await run(['events', '--json'], env)).stdout).toContain('"n-1"');
  });
});

import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { ownRedis } from '../support/own-redis.ts';

const PREFIX = 'follow';
const KEYS = keysOf(PREFIX, 'default');

/** A server whose role a test changes, and a queue on it. */
async function world() {
  const { client: admin, url } = await ownRedis();
  const queue = new NoticeQueue({
    redis: connectionAs('application', url),
    prefix: PREFIX,
  });
  onTestFinished(() => queue.close());
  const readers = async () => /\nblocked_clients:(\d+)/.exec(await admin.info('clients'))?.[1];
  return {
    admin,
    queue,
    /** Waits until so many readers block on a stream. */
    blocked: (count: number) =>
      until(async () => Number(await readers()) === count, {
        what: `${count} readers that wait`,
        deadlineMs: 20_000,
      }),
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

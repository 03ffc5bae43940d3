import { describe, expect, it, onTestFinished } from 'vitest';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import type { AccountEvent } from '../../../src/events/event.ts';
import { accountEvents } from '../../../src/events/follow.ts';
import { NoticeQueue } from '../../../src/index.ts';
import type { RedisSettings } from '../../../src/redis/connect.ts';
import { faultProxyOf } from '../../support/fault-proxy.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { openBatch, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();
const settings = (url = redis.url): RedisSettings => ({
  url,
  sentinels: [],
  connectTimeoutMs: 2_000,
});

function queueOf({ prefix }: BatchBench): NoticeQueue {
  const queue = new NoticeQueue({ redis: connectionAs('application', redis.url), prefix });
  onTestFinished(() => queue.close());
  return queue;
}

/** A finished batch of two rejected contacts and eight accepted ones: two events. */
async function eventful(): Promise<BatchBench> {
  const bench = await openBatch(redis, {}, [2, 8]);
  await bench.settleNew(0, { ...allFailed('rejected', 'BAD', ''), rows: '2-3' });
  await bench.settleNew(1, allAccepted());
  return bench;
}

/** Takes so many events and ends the iteration. */
async function take(events: AsyncIterable<AccountEvent>, count: number): Promise<AccountEvent[]> {
  const taken: AccountEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

/** Waits until a client blocks on the stream. */
const waiting = (blocked = 1) =>
  until(
    async () => {
      const info = await redis.client.info('clients');
      return Number(/blocked_clients:(\d+)/.exec(info)?.[1]) >= blocked;
    },
    { what: 'a reader that waits' },
  );

describe('batchEvents', () => {
  it('returns the events of batches, from any cursor', async () => {
    const bench = await eventful();
    const queue = queueOf(bench);
    const events = await take(queue.events({ from: '0' }), 2);
    const [rejected, finished] = events;
    expect(events).toEqual([
      {
        event: 'contact.rejected',
        cursor: expect.stringMatching(/^\d+-\d+$/) as unknown,
        at: Number.parseInt(rejected?.cursor ?? '', 10),
        batch: 'b-1',
        failure: '0',
        contacts: 2,
        rows: '2-3',
        code: 'BAD',
      },
      {
        event: 'batch.finished',
        cursor: expect.stringMatching(/^\d+-\d+$/) as unknown,
        at: Number.parseInt(finished?.cursor ?? '', 10),
        batch: 'b-1',
        phase: 'finished',
        total: 10,
        accepted: 8,
        rejected: 2,
        unknown: 0,
        expired: 0,
        cancelled: 0,
        suppressed: 0,
        possiblySentTwice: 0,
      },
    ]);
    expect(Math.abs((rejected?.at ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await take(queue.events({ from: rejected?.cursor }), 1)).toEqual([finished]);
  });

  it.each<[string, number[], object[]]>([
    ['50 at once', [50], [{ batch: 'b-1', rejected: 50, code: 'BAD' }]],
    ['30 three times, once', [30, 30, 30], [{ rejected: 60 }]],
    ['49', [49], []],
    ['60 after an acceptance', [1, 60], []],
  ])('tells of a batch that is refused: %s', async (name, sizes, told) => {
    const bench = await openBatch(redis, {}, sizes);
    const isAccepted = (chunk: number) => chunk === 0 && name.includes('acceptance');
    for (const chunk of sizes.keys()) {
      const end = isAccepted(chunk) ? allAccepted() : allFailed('rejected', 'BAD', '');
      await bench.settleNew(chunk, end);
    }
    const parts = [...sizes.keys()].filter((chunk) => !isAccepted(chunk)).length;
    const events = await take(queueOf(bench).events({ from: '0' }), parts + told.length + 1);
    expect(events.filter(({ event }) => event === 'batch.refused')).toMatchObject(told);
    expect(events.at(-1)?.event).toBe('batch.finished');
  });

  it('waits for what is to come, from the moment at which it is asked', async () => {
    const bench = await eventful();
    const taken = take(queueOf(bench).events(), 2);
    await waiting();
    await bench.ledger.redrive(bench.id, '0', 'rejected');
    await bench.ledger.control(bench.id, 'cancel');
    expect(await taken).toMatchObject([
      { event: 'contact.redriven', batch: 'b-1', failure: '0', contacts: 2 },
      { event: 'batch.finished', phase: 'cancelled', accepted: 8, cancelled: 2 },
    ]);
  });

  it('waits on an account that never had an event, and reports a stall', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const taken = take(queueOf(bench).events(), 1);
    await waiting();
    await bench.queue();
    await bench.setFields({ movedAt: 1 });
    await bench.ledger.restartStalled(bench.id, 1_000);
    expect(await taken).toMatchObject([{ event: 'batch.stalled', batch: 'b-1', pending: 10 }]);
  });

  it('ends without an error at its signal and at the close of the queue', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const queue = queueOf(bench);
    const stop = new AbortController();
    const bySignal = take(queue.events({ signal: stop.signal }), 1);
    const byClose = take(queue.events(), 1);
    await waiting(2);
    stop.abort();
    expect(await bySignal).toEqual([]);
    await queue.close();
    expect(await byClose).toEqual([]);
    // No connection is made.
    const ended = accountEvents(settings(), bench.keys, { signal: AbortSignal.abort() });
    expect(await take(ended, 1)).toEqual([]);
    expect(() => queue.events()).toThrow(expect.objectContaining({ code: 'QUEUE_CLOSED' }));
  });

  it.each<[string, unknown, string]>([
    ['a cursor that is none', { from: 'yesterday' }, 'from'],
    ['the end of the stream', { from: '$' }, 'from'],
    ['a number', { from: 5 }, 'from'],
    ['a negative one', { from: '-1' }, 'from'],
    ['no signal', { signal: 'stop' }, 'signal'],
    ['an option that is not known', { since: '0' }, 'since'],
  ])('refuses %s at once, and names it', async (_, options, field) => {
    const queue = queueOf(await openBatch(redis));
    const call = () => queue.events(options as { from?: string });
    expect(call).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(call).toThrow(field);
  });

  it('continues after its connection broke', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const taken = take(queueOf(bench).events(), 1);
    await waiting();
    const list = String(await redis.client.client('LIST'));
    const id = /^id=(\d+) .* flags=\w*b\w* .*cmd=xread/m.exec(list)?.[1] ?? '';
    await redis.client.client('KILL', 'ID', id);
    await waiting();
    await bench.ledger.control(bench.id, 'cancel');
    expect(await taken).toMatchObject([{ event: 'batch.finished' }]);
  });

  it('replaces a connection that no longer replies', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const proxy = await faultProxyOf(redis.url);
    const events = accountEvents(settings(proxy.url), bench.keys, {}, undefined, 200);
    const taken = take(events, 1);
    await waiting();
    await proxy.place({ kind: 'black-hole', after: 'dead' });
    await bench.ledger.control(bench.id, 'cancel');
    await until(() => proxy.struck > 0, { what: 'the lost event' });
    await proxy.heal();
    expect(await taken).toMatchObject([{ event: 'batch.finished' }]);
  });
});

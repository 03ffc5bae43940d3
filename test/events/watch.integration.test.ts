import { pino } from 'pino';
import { expect, describe, it, onTestFinished } from 'vitest';
import { announceAccepted, trimEvents } from '../../src/events/announce.ts';
import type { WatchedState } from '../../src/events/conditions.ts';
import { createEventWatch, postAgain } from '../../src/events/watch.ts';
import { signatureOf } from '../../src/events/webhook.ts';
import { readWatched } from '../../src/ops/snapshot.ts';
import { liftManualHold, placeManualHold } from '../../src/fleet/hold/holds.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { startReceiver } from './support/receiver.ts';

const redis = testRedis();
const SECRET = 'a secret of sixteen';

const findingOf = (event: string) => JSON.stringify({ event, kind: 'new' });

/** A namespace, a receiver, and processes that watch and post. */
async function world() {
  const { keys } = redis.account();
  const receiver = await startReceiver();
  const fleet = { redis: redis.client, keys };
  const lines: { event: string }[] = [];
  const log = pino(
    {},
    { write: (line: string) => void lines.push(JSON.parse(line) as { event: string }) },
  );
  const start = async (look: () => Promise<WatchedState> = () => readWatched(fleet)) => {
    const watch = createEventWatch({
      redis: redis.client,
      keys,
      webhook: { url: receiver.url, secret: SECRET, format: 'json' },
      queue: 'q:default',
      look,
      isWorker: false,
      log,
      everyMs: 20,
      retryMs: 20,
    });
    await watch.start();
    onTestFinished(() => watch.stop());
    return watch;
  };
  const end = (job: string) => announceAccepted(redis.client, keys, job, 100_000);
  const notices = () =>
    receiver.events().flatMap((event) => ('notice' in event ? [event.notice] : []));
  const receives = (count: number) =>
    until(() => notices().length >= count, { what: `${count} ends` });
  return { keys, receiver, start, end, notices, receives, lines };
}

describe('the webhook of events', () => {
  it('gets the ends that were there before the first process, signed and in their order', async () => {
    const { receiver, start, end, notices, receives } = await world();
    for (const job of ['a', 'b', 'c']) await end(job);
    await start();
    await receives(3);
    await end('d');
    await receives(4);
    expect(notices()).toEqual(['a', 'b', 'c', 'd']);
    const [first] = receiver.received;
    const signature = String(first?.headers['notices-signature']);
    const at = Number(/^t=(\d+)/.exec(signature)?.[1]) * 1_000;
    expect(signature).toBe(signatureOf(SECRET, first?.body ?? '', at));
    expect(JSON.parse(first?.body ?? '')).toMatchObject({ version: 1, queue: 'q:default' });
  });

  it('gets again what it did not take, before what came later, and also from another process', async () => {
    const { receiver, start, end, notices, receives } = await world();
    receiver.answer(500);
    const first = await start();
    await end('a');
    await receives(2);
    await first.stop();
    await end('b');
    const before = notices().length;
    receiver.answer(204);
    await start();
    await receives(before + 2);
    expect(notices().slice(before)).toEqual(['a', 'b']);
  });

  it('gets more than one post holds', async () => {
    const { start, end, notices, receives, receiver } = await world();
    const jobs = Array.from({ length: 1_100 }, (_, index) => `n-${index}`);
    for (const job of jobs) await end(job);
    await start();
    await receives(1_100);
    expect(notices()).toEqual(jobs);
    expect(receiver.received).toHaveLength(3);
  });

  it('is told where events were deleted before it took them', async () => {
    const { keys, receiver, start, end, receives, lines } = await world();
    await end('a');
    const watch = await start();
    await receives(1);
    await watch.stop();
    await end('b');
    await redis.client.xtrim(keys.events, 'MAXLEN', 0);
    await end('c');
    await start();
    await receives(2);
    expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toMatchObject({ missed: true });
    // Logged once the receiver has answered.
    await until(() => lines.some(({ event }) => event === 'events-missed'), { what: 'the log' });
  });

  it('gets the events after a cursor again', async () => {
    const { keys, receiver, start, end, notices, receives } = await world();
    for (const job of ['a', 'b', 'c']) await end(job);
    await start();
    await receives(3);
    await postAgain(redis.client, keys, receiver.events()[0]?.cursor ?? '');
    await receives(5);
    expect(notices()).toEqual(['a', 'b', 'c', 'b', 'c']);
  });

  it('gets the hold of a template, with its name', async () => {
    const { keys, receiver, start } = await world();
    await start();
    await placeManualHold(redis.client, keys, 'a reason', 'ORDER_SHIPPED');
    await until(() => receiver.names().includes('hold.begun'), { what: 'the hold' });
    await liftManualHold(redis.client, keys, undefined, 'ORDER_SHIPPED');
    await until(() => receiver.names().includes('hold.ended'), { what: 'its end' });
    const held = { kind: 'manual', template: 'ORDER_SHIPPED' };
    expect(receiver.events()).toMatchObject([held, held]);
  });

  it('gets a hold and its end once, from whatever process', async () => {
    const { keys, receiver, start } = await world();
    // Stored by others: it is judged anew, and what is no event is left out.
    await redis.client.hset(keys.turns, 'events conditions', '{');
    for (const none of ['{', ...['new.kind', 'constructor', 'hold.begun'].map(findingOf)]) {
      await redis.client.xadd(keys.events, '*', 'event', 'watch', 'finding', none);
    }
    await Promise.all([start(), start()]);
    await placeManualHold(redis.client, keys, 'a reason');
    await until(() => receiver.names().includes('hold.begun'), { what: 'the hold' });
    await redis.client.del(keys.hold);
    await until(() => receiver.names().includes('hold.ended'), { what: 'its end' });
    expect(receiver.names()).toEqual(['hold.begun', 'hold.ended']);
    expect(receiver.received.map(({ body }) => body).join()).not.toContain('a reason');
  });
});

it('ten thousand events are kept at least', async () => {
  const { keys } = await world();
  const add = redis.client.pipeline();
  for (let index = 0; index < 12_000; index++) add.xadd(keys.events, '*', 'event', 'x');
  await add.exec();
  await trimEvents(redis.client, keys, 0);
  expect(await redis.client.xlen(keys.events)).toBeGreaterThanOrEqual(10_000);
  expect(await redis.client.xlen(keys.events)).toBeLessThan(10_200);
});

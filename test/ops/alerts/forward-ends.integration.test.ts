import { pino } from 'pino';
import { expect, it } from 'vitest';
import { appendNoticeEvent } from '../../../src/notices/notice-events.ts';
import type { AlertEvent, EndedNotice } from '../../../src/ops/alerts/alert-event.ts';
import { AlertStore } from '../../../src/ops/alerts/alert-store.ts';
import { forwardEnds } from '../../../src/ops/alerts/forward-ends.ts';
import { Outbox } from '../../../src/ops/alerts/outbox.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

/** Rounds of an outage, each with some ends; the leader makes four in a second. */
const ROUNDS = 600;
const ENDS_PER_ROUND = 5;

async function bench() {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const store = new AlertStore(redis.client, keys);
  const log = pino({ level: 'silent' });
  const forward = async () => {
    await store.lead();
    return forwardEnds({ redis: redis.client, keys, store, queue: 'q', log });
  };
  let count = 0;
  const end = async (ends: number, most = 100_000) => {
    const writes = Array.from({ length: ends }, () => {
      const id = `n-${count++}`;
      const entry = { job: id, notice: id, state: 'accepted', code: '' } as const;
      return appendNoticeEvent(redis.client, keys, entry, most);
    });
    await Promise.all(writes);
  };
  // The first round of all begins with the ends from then on.
  await end(1);
  await forward();
  return { keys, forward, end, outbox: new Outbox(redis.client, keys.events) };
}

/** What a receiver gets that answers again, and the events in which it was missed that some were deleted. */
async function received(outbox: Outbox, forward: () => Promise<unknown>) {
  const ends: string[] = [];
  let missed = 0;
  for (;;) {
    await forward();
    const next = await outbox.next();
    if (next === undefined) return { ends, missed };
    const { data } = JSON.parse(next.body) as AlertEvent;
    ends.push(...(data['notices'] as EndedNotice[]).map(({ notice }) => notice));
    if (data['missed'] === true) missed += 1;
    await outbox.remove(next);
  }
}

it('in an outage the number of events depends on the ends, not on its length; nothing is missing after it', async () => {
  const { forward, end, outbox } = await bench();
  for (let round = 0; round < ROUNDS; round++) {
    await end(ENDS_PER_ROUND);
    await forward();
  }
  const ends = ROUNDS * ENDS_PER_ROUND;
  // A hundred events with what came in their rounds; all others are full.
  expect(await outbox.waiting()).toBe(100 + Math.floor((ends - 100 * ENDS_PER_ROUND) / 500));
  const found = await received(outbox, forward);
  expect(found.ends).toEqual(Array.from({ length: ends }, (_, index) => `n-${index + 1}`));
  expect(found.missed).toBe(0);
}, 120_000);

it('what the stream has lost while the outbox was full is reported once, and the rest arrives in order', async () => {
  const { keys, forward, end, outbox } = await bench();
  const full = redis.client.pipeline();
  const other = JSON.stringify({ id: 'other', data: { notices: [] } });
  for (let at = 0; at < 10_000; at++) full.xadd(keys.events.outbox, '*', 'alert', other);
  await full.exec();
  await end(1_000);
  expect(await forward()).toBe('full');
  expect(await outbox.waiting()).toBe(10_000);
  // NOTICE_EVENTS is exceeded meanwhile.
  await redis.client.xtrim(keys.noticeEvents, 'MAXLEN', 400);
  expect(await forward()).toBe('full');
  await redis.client.del(keys.events.outbox);
  const found = await received(outbox, forward);
  expect(found.ends).toEqual(Array.from({ length: 400 }, (_, index) => `n-${index + 601}`));
  expect(found.missed).toBe(1);
}, 60_000);

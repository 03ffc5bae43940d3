import { describe, expect, it } from 'vitest';
import type { NoticeQueueOptions, NoticeRef } from '../../src/index.ts';
import { cancelScript, parkNotice as parkWaiting } from '../../src/notices/cancel.ts';
import { QUEUE_NAME } from '../../src/redis/keys.ts';
import { shaOf } from '../chaos/support/script-sha.ts';
import { parkNotice } from '../ops/support/parked-notice.ts';
import { faultProxyOf } from '../support/fault-proxy.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { NOTICE, noticeWorld } from './support/notice-world.ts';
import { bullQueue } from '../support/bull-queue.ts';

const redis = testRedis();

function open(options: NoticeQueueOptions = {}) {
  const world = noticeWorld(redis, options);
  const board = bullQueue(QUEUE_NAME, redis.client, world.keys);
  return { ...world, board };
}

const CANCELLED = { cancelled: true, answer: 'cancelled' };
const RELEASED = { ...CANCELLED, keyReleased: true };

describe('a notice that waits', () => {
  it.each([
    ['delayed', { delay: 3_600_000 }],
    ['waiting', {}],
    ['waiting with a priority', { priority: 7 }],
  ])('%s: is cancelled, twice the same, and never sent', async (_, options) => {
    const { worker, queue, board, reaching } = open();
    const { id } = await queue.send(NOTICE, options);
    expect(await queue.cancel(id)).toEqual({ id, ...CANCELLED });
    expect(await queue.cancel(id)).toEqual({ id, ...CANCELLED });
    expect(await queue.get(id)).toMatchObject({ state: 'cancelled', attempts: 0, possiblySent: 0 });
    expect(await board.count()).toBe(0);
    const { emulator } = await worker();
    const next = await queue.send({ ...NOTICE, contacts: [{ contact: '01000000002' }] });
    await reaching(next.id, 'accepted');
    expect(emulator.record()).toMatchObject({ contacts: 1 });
    expect(await queue.get(id)).toMatchObject({ state: 'cancelled' });
  });

  it('its idempotency key stays in use, unless it is released', async () => {
    const { queue, board } = open();
    const options = { idempotencyKey: 'visit-1', delay: 3_600_000 };
    const { id } = await queue.send(NOTICE, options);
    expect(await queue.cancel({ idempotencyKey: 'visit-1' })).toEqual({ id, ...CANCELLED });
    expect(await queue.send(NOTICE, options)).toMatchObject({ id, duplicate: true });
    expect(await board.count()).toBe(0);
    expect(await queue.cancel(id, { releaseKey: true })).toEqual({ id, ...RELEASED });
    const anew = await queue.send(NOTICE, options);
    expect(anew.duplicate).toBe(false);
    // The key is the new notice's now: cancelling the old one again releases nothing.
    expect(await queue.cancel(id, { releaseKey: true })).toEqual({ id, ...CANCELLED });
    expect(await queue.send(NOTICE, options)).toMatchObject({ id: anew.id, duplicate: true });
  });

  it('by a key that is released, and the reply is lost: is cancelled all the same', async () => {
    const { prefix, queue } = open();
    const { id } = await queue.send(NOTICE, { idempotencyKey: 'visit-2' });
    // Otherwise the lost reply is that Redis does not know the script yet.
    await queue.cancel('none');
    const proxy = await faultProxyOf(redis.url);
    const url = proxy.url;
    const { queue: losing } = open({ redis: connectionAs('producer', redis.url, url), prefix });
    expect(await losing.get(id)).toMatchObject({ state: 'pending' });
    await proxy.place({ kind: 'drop-reply', when: await shaOf(cancelScript), times: 1 });
    const ref = { idempotencyKey: 'visit-2' };
    expect(await losing.cancel(ref, { releaseKey: true })).toEqual({ id, ...RELEASED });
    expect(proxy.struck).toBe(1);
    expect((await queue.send(NOTICE, ref)).duplicate).toBe(false);
  });

  it('cancelled by ten at once while a worker takes it: true for all, or sent once', async () => {
    const { worker, queue } = open();
    const { emulator } = await worker();
    const sent = await queue.sendMany(Array.from({ length: 40 }, () => NOTICE));
    const reports = await Promise.all(
      sent.flatMap(({ id }) => [queue.cancel(id), queue.cancel(id)]),
    );
    const cancelled = new Set(reports.flatMap((one) => (one.cancelled ? [one.id] : [])));
    const ended = async () => {
      const views = await Promise.all(sent.map(({ id }) => queue.get(id)));
      return views.every(({ state }) => state === 'accepted' || state === 'cancelled');
    };
    await until(ended, { what: 'the end of all', deadlineMs: 20_000 });
    for (const { id } of sent) {
      const { state } = await queue.get(id);
      expect([id, state]).toEqual([id, cancelled.has(id) ? 'cancelled' : 'accepted']);
    }
    expect(emulator.record().contacts).toBe(sent.length - cancelled.size);
  });
});

describe('a notice that was sent, or may have been', () => {
  // Of an at-most-once notice the record before the request tells, which this worker did not get to.
  it.each([
    ['at-least-once', { cancelled: false, answer: 'possibly-sent' }],
    ['at-most-once', CANCELLED],
  ] as const)('%s, after its worker has died', async (delivery, answer) => {
    const { queue, keys, board, taker } = open();
    const { id } = await queue.send(NOTICE, { delivery });
    await taker().getNextJob('token');
    expect(await queue.cancel(id)).toMatchObject({ answer: 'sending' });
    await redis.client.hset(keys.noticeJob(id), 'stc', 1);
    await (await board.getJob(id))?.moveToDelayed(Date.now() + 60_000, 'token');
    expect(await queue.cancel(id)).toMatchObject(answer);
  });

  it('is not cancelled while its outcome is unknown, nor when it is to be sent again', async () => {
    const parked = await parkNotice(redis);
    const { queue, id, keys } = parked;
    expect(await queue.cancel(id)).toEqual({ id, cancelled: false, answer: 'unknown' });
    await redis.client.hset(keys.history, `intent:${id}`, '{"nonce":"x","at":1,"worker":"w"}');
    expect(await queue.cancel(id)).toMatchObject({ cancelled: false });
  });

  it('is not parked while a worker sends it, and ends as accepted', async () => {
    const { worker, queue, keys, reaching } = open();
    const { emulator } = await worker({}, { latencyMs: 1_000 });
    const { id } = await queue.send(NOTICE);
    await until(() => emulator.record().contacts === 1, { what: 'the request' });
    await redis.client.hset(keys.hold, 'queue', JSON.stringify({ kind: 'restored', since: 1 }));
    expect(await parkWaiting(redis.client, keys, id)).toBe('changed');
    await reaching(id, 'accepted');
  });

  it('is not cancelled while Redis is held as an old copy', async () => {
    const { queue, keys } = open();
    const { id } = await queue.send(NOTICE);
    await redis.client.hset(
      keys.hold,
      'queue',
      JSON.stringify({ kind: 'restored', since: 1, next: 1 }),
    );
    expect(await queue.cancel(id)).toMatchObject({ cancelled: false, answer: 'possibly-sent' });
  });
});

it.each(['{"kind":', '7', 'null'])(
  'is cancelled where the hold is not readable: %s',
  async (text) => {
    const { queue, keys } = open();
    const { id } = await queue.send(NOTICE);
    await redis.client.hset(keys.hold, 'queue', text);
    expect(await queue.cancel(id)).toEqual({ id, ...CANCELLED });
  },
);

it.each([
  { what: 'text', options: { releaseKey: 'false' }, field: 'releaseKey' },
  { what: 'an unknown name', options: { releasekey: true }, field: 'releasekey' },
  { what: 'null', options: null, field: 'options' },
])('options with $what are refused, and nothing is cancelled', async ({ options, field }) => {
  const { queue } = open();
  const { id } = await queue.send(NOTICE);
  await expect(queue.cancel(id, options as never)).rejects.toMatchObject({
    code: 'NOTICE_INVALID',
    issues: [{ field }],
  });
  expect(await queue.get(id)).toMatchObject({ state: 'pending' });
});

it.each<[NoticeRef, string]>([
  ['n-AAAAAAAAAAAAAAAA', 'n-AAAAAAAAAAAAAAAA'],
  ['wait', 'wait'],
  ['de:x', 'de:x'],
  ['한국어 "id"', '한국어 "id"'],
  [{ idempotencyKey: 'unknown' }, ''],
])('what does not exist is not cancelled: %j', async (ref, id) => {
  const { queue } = open();
  const { id: other } = await queue.send(NOTICE);
  expect(await queue.cancel(ref)).toEqual({ id, cancelled: false, answer: 'not-kept' });
  expect(await queue.get(other)).toMatchObject({ state: 'pending' });
});

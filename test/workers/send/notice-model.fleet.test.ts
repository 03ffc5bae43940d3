import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { after } from './support/notice-model.ts';
import { NoticeStage } from './support/notice-stage.ts';
import { begin, NO_TROUBLES, RULES, viewOf, type Move } from './support/notice-world.ts';
import { playNotices } from './support/play-notices.ts';

const redis = testRedis();

it('a notice, its workers and its queue do what their model does', async () => {
  const { seed, moves, different } = await playNotices(redis, 60);
  expect(different, `NOTICES_SEED=${seed}`).toEqual([]);
  expect(moves).toBeGreaterThan(300);
}, 60_000);

it('another model is noticed', async () => {
  const { different } = await playNotices(redis, 40, {
    rules: { ...RULES, countsAgain: false },
    seed: 1,
  });
  expect(different.join()).toContain('twice');
}, 60_000);

it('a worker that has lost its job does not let it expire after another one sent it', async () => {
  const moves: readonly Move[] = [
    { kind: 'fetch', worker: 0 },
    { kind: 'lose lock', worker: 0 },
    { kind: 'stall' },
    { kind: 'fetch', worker: 1 },
    { kind: 'ask', worker: 1, answer: 'accepted, lost' },
    { kind: 'expire' },
    { kind: 'ask', worker: 0, answer: 'accepted' },
    { kind: 'lose lock', worker: 1 },
    { kind: 'record', worker: 0, twice: false },
    { kind: 'kill', worker: 1 },
    { kind: 'stall' },
    { kind: 'fetch', worker: 1 },
    { kind: 'ask', worker: 1, answer: 'accepted' },
    { kind: 'record', worker: 1, twice: false },
  ];
  const first = begin('at-least-once', false, { ...NO_TROUBLES, kills: 1, losses: 2, expiries: 1 });
  const last = moves.reduce((world, move) => after(world, move, RULES), first);
  expect([viewOf(last).state, last.broken]).toEqual(['unknown', []]);
  const stage = new NoticeStage(redis, RULES);
  try {
    await stage.play(first, moves);
  } finally {
    await stage.close();
  }
}, 60_000);

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createChores } from '../../../src/ops/chores/chores.ts';
import { endTurn, takeTurn } from '../../../src/redis/turns.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();

it('a process that runs alone gets a turn whenever it asks', async () => {
  const { keys } = redis.account();
  const everyMs = 60_000;
  let turns = 0;
  const run = () => {
    turns += 1;
    return Promise.resolve();
  };
  const chores = createChores(
    { redis: redis.client, keys },
    [{ name: 'count', everyMs, run }],
    pino({ level: 'silent' }),
  );
  chores.start();
  const rest = async () =>
    Number.parseInt((await redis.client.hget(keys.turns, 'count')) ?? '', 10) - Date.now();
  const isOver = async () => turns === 1 && (await rest()) < everyMs;
  await until(isOver, { what: 'the end of its turn' });
  // It asks again after four fifths of the interval at the earliest.
  expect(await rest()).toBeLessThan(0.8 * everyMs);
  await chores.stop();
});

it('a turn that took too long leaves the turn to the one that follows it', async () => {
  const { keys } = redis.account();
  const takes = (nonce: string, ms: number) => takeTurn(redis.client, keys, 'long', nonce, ms);
  const ends = (nonce: string, restMs: number) =>
    endTurn(redis.client, keys, 'long', nonce, restMs);
  expect(await takes('a', 300)).toBe(true);
  await until(() => takes('b', 30_000), { what: 'the end of the first' });
  expect(await ends('a', 200)).toBe(false);
  expect(await ends('a', 0)).toBe(false);
  expect(await redis.client.hget(keys.turns, 'long')).toMatch(/ b$/);
  expect(await takes('c', 30_000)).toBe(false);
  expect(await ends('b', 0)).toBe(true);
  expect(await takes('c', 30_000)).toBe(true);
});

it('a chore that fails is tried again at its next turn, and stopped with the process', async () => {
  const { keys } = redis.account();
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line) as never) });
  let runs = 0;
  const run = () => {
    runs += 1;
    return Promise.reject(new Error('a defect'));
  };
  const chores = createChores(
    { redis: redis.client, keys },
    [{ name: 'fails', everyMs: 10, run }],
    log,
  );
  await chores.start();
  await until(() => runs > 2, { what: 'three runs' });
  await chores.stop();
  const ended = runs;
  await redis.client.ping();
  expect(runs).toBe(ended);
  expect(lines[0]).toMatchObject({ event: 'chore-trouble', chore: 'fails' });
});

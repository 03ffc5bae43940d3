import { expect, it } from 'vitest';
import { run } from '../cli/support/run.ts';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

/** A slot may be used for 200 ms; the rest is for a machine that stands still for a moment. */
const LATE_MS = 1_200;
const RATE = 40;
const NOTICES = 90;
const CONTACTS = 60;

/** The most requests of any stretch of time beyond what the rate limit allows for it. */
function beyondRate(times: readonly number[]): number {
  let worst = -Infinity;
  for (const [first, from] of times.entries()) {
    for (let last = first; last < times.length; last++) {
      const allowed = 1 + (RATE * ((times[last] ?? 0) - from + LATE_MS)) / 1_000;
      worst = Math.max(worst, last - first + 1 - allowed);
    }
  }
  return worst;
}

it('two processes, notices and chunks: together never beyond the rate limit, and no attempt is spent on waiting', async () => {
  const on = await fleetOn(redis, {
    processes: 2,
    env: { CONCURRENCY: '16', BATCH_CONCURRENCY: '8', RATE_LIMIT: String(RATE) },
  });
  // Both lanes are full before anything is sent.
  await run(['hold', 'place', '--why', 'a start together'], on.env);
  const list = numbers(CONTACTS, 5_000).map((contact) => ({ contact }));
  await Promise.all([
    on.sendEach(numbers(NOTICES)),
    on.queue.import(list, { templateCode: 'PACE', batchId: 'b', chunkSize: 1 }),
  ]);
  await run(['hold', 'lift'], on.env);
  await until(() => on.emulator.record().requests >= NOTICES + CONTACTS, {
    what: 'all requests',
    deadlineMs: 60_000,
  });
  const details = on.emulator.details();
  const times = details.map(({ at }) => at).sort((a, b) => a - b);
  expect(times).toHaveLength(NOTICES + CONTACTS);
  expect(beyondRate(times)).toBeLessThanOrEqual(0);
  // Both lanes moved: neither waited for the end of the other.
  const chunks = details.map(({ templateCode }) => templateCode === 'PACE');
  expect(chunks.indexOf(true)).toBeLessThan(chunks.lastIndexOf(false));
  expect(chunks.indexOf(false)).toBeLessThan(chunks.lastIndexOf(true));
  expect(on.emulator.record()).toMatchObject({ twice: 0, distinct: NOTICES + CONTACTS });
  expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
}, 120_000);

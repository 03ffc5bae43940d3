import { expect, it } from 'vitest';
import { run } from '../cli/support/run.ts';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

/** TOKEN_BUDGET: less than both programs need. */
const BUDGET = 3;

/** How often the other program issues. */
const EVERY_MS = 300;

/** So many tokens it issues: about 12 seconds. */
const FOREIGN = 40;

/** Notices that are handed over with each of its tokens. */
const EACH = 10;

const redis = testRedis();

it('another program issues tokens with the same key pair: held as token-contested once the budget is spent, then all is sent once', async () => {
  const on = await fleetOn(redis, {
    processes: 2,
    env: {
      CONCURRENCY: '8',
      TOKEN_GRACE_MS: '50',
      TOKEN_BUDGET: String(BUDGET),
      TOKEN_BUDGET_WINDOW_MS: '20s',
    },
    emulator: { tokenMode: 'single' },
  });
  const { emulator } = on;
  const heldAs = async () => {
    const { stdout } = await run(['status', '--json'], on.env);
    return (JSON.parse(stdout) as { hold?: { kind: string } }).hold?.kind;
  };
  await on.sendEach(numbers(EACH));
  await until(() => emulator.record().distinct === EACH, { what: 'the first sends' });

  const startedAt = performance.now();
  let detectedMs = Infinity;
  for (let issuance = 1; issuance <= FOREIGN; issuance++) {
    await until(() => performance.now() - startedAt >= issuance * EVERY_MS, {
      what: 'the next issuance',
      everyMs: 5,
    });
    emulator.issueForeign();
    await on.sendEach(numbers(EACH, issuance * EACH));
    if (detectedMs === Infinity && (await heldAs()) === 'token-contested') {
      detectedMs = performance.now() - startedAt;
    }
  }
  expect(detectedMs).toBeLessThan(FOREIGN * EVERY_MS);
  expect(emulator.record().tokens.foreign).toBe(FOREIGN);
  expect(emulator.record().tokens.issued).toBeLessThanOrEqual(BUDGET);
  const events = on.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
  expect(events).toContain('token-contested');

  const all = EACH * (FOREIGN + 1);
  await until(() => emulator.record().distinct === all, {
    what: 'all accepted',
    deadlineMs: 60_000,
  });
  expect(emulator.record().twice).toBe(0);
  expect(on.attempts().filter(({ outcome }) => outcome === 'rejected')).toEqual([]);
  await until(async () => (await heldAs()) === undefined, { what: 'the end of the hold' });
}, 120_000);

import { afterEach, describe, expect, it } from 'vitest';
import { run } from '../cli/support/run.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
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

describe('another program issues tokens with the same key pair', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  it('is the hold token-contested once the budget is spent; afterwards all is sent once', async () => {
    const on = await startFleet({
      redisUrl: redis.url,
      prefix: redis.freshPrefix(),
      processes: 2,
      env: {
        CONCURRENCY: '8',
        TOKEN_GRACE_MS: '50',
        TOKEN_BUDGET: String(BUDGET),
        TOKEN_BUDGET_WINDOW_MS: '20s',
      },
      emulator: { tokenMode: 'single' },
    });
    fleet = on;
    const { emulator } = on;
    await on.sendEach(numbers(EACH));
    await until(() => emulator.record().distinct === EACH, { what: 'the first sends' });

    const begun = performance.now();
    let detectedMs = Infinity;
    for (let issuance = 1; issuance <= FOREIGN; issuance++) {
      await until(() => performance.now() - begun >= issuance * EVERY_MS, {
        what: 'the next issuance',
        everyMs: 5,
      });
      emulator.issueForeign();
      await on.sendEach(numbers(EACH, issuance * EACH));
      if (detectedMs === Infinity && (await heldAs(on)) === 'token-contested') {
        detectedMs = performance.now() - begun;
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
    await until(async () => (await heldAs(on)) === undefined, { what: 'the end of the hold' });
  }, 120_000);

  it('is not what tokens are taken for that live for seconds and die with the documented code', async () => {
    const lifeMs = 2_000;
    const on = await startFleet({
      redisUrl: redis.url,
      prefix: redis.freshPrefix(),
      processes: 2,
      env: { CONCURRENCY: '8' },
      emulator: { tokenMode: 'single', tokenLifetimeMs: lifeMs },
    });
    fleet = on;
    const { emulator } = on;
    const begun = performance.now();
    let sent = 0;
    for (; performance.now() - begun < 7 * lifeMs; sent += EACH) {
      await on.sendEach(numbers(EACH, sent));
      await until(() => emulator.record().distinct === sent + EACH, { what: 'the notices' });
      const at = performance.now();
      await until(() => performance.now() - at > 100, { what: 'the next notices', everyMs: 20 });
    }
    const lifetimes = Math.ceil((performance.now() - begun) / lifeMs);
    const { issued } = emulator.record().tokens;
    expect(issued).toBeGreaterThan(4);
    expect(issued).toBeLessThanOrEqual(lifetimes + 1);
    const events = on.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
    expect(events).not.toContain('token-contested');
    expect(events).not.toContain('hold');
    expect(emulator.record().twice).toBe(0);
  }, 120_000);
});

async function heldAs({ env }: Fleet): Promise<string | undefined> {
  const { stdout } = await run(['status', '--json'], env);
  return (JSON.parse(stdout) as { hold?: { kind: string } }).hold?.kind;
}

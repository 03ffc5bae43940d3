import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import { readTokenStatus } from '../../src/token/token-status.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import type { CallerCounts, FleetPlan } from './support/fleet-plan.ts';
import { TokenServer, type Fate } from './support/token-server.ts';

const redis = testRedis();
const PROCESSES = 4;
const CALLERS = 16;

const settings = {
  lockTtlMs: 4000,
  issueDeadlineMs: 1400,
  graceMs: 50,
  budget: 1000,
  budgetWindowMs: 3_600_000,
  refusedMinMs: 500,
  refusedMaxMs: 5000,
  renewBeforeMs: 1000,
};

describe('a fleet of processes, against a service that keeps one token per app', () => {
  let service: TokenServer;
  let fleet: ChildProcess[];
  let prefix: string;

  beforeEach(async () => {
    service = await TokenServer.start();
    prefix = redis.freshPrefix();
    fleet = await Promise.all(Array.from({ length: PROCESSES }, start));
  });
  afterEach(async () => {
    for (const child of fleet) if (child.exitCode === null) child.kill('SIGKILL');
    await service.close();
  });

  it(
    'issues exactly once per invalidation: 1 + 20, over 20 of them',
    { timeout: 60_000 },
    async () => {
      await working(service);
      for (let n = 1; n <= 20; n += 1) {
        service.invalidate();
        await working(service);
        expect(service.issuances).toBe(1 + n);
      }
      const counts = await end(fleet);
      expect(service.issuances).toBe(21);
      expect(counts.map(({ errors }) => errors)).toEqual(fleet.map(() => []));
      expect(counts.reduce((sum, { sends }) => sum + sends, 0)).toBe(service.accepted);
    },
  );

  it.each([
    ['right after it took the lock', 'die-before'],
    ['right after the service issued, before it stored', 'die-after'],
  ] as [string, Fate][])(
    'recovers from a holder killed %s',
    { timeout: 60_000 },
    async (_, fate) => {
      const kills = 3;
      await working(service);
      for (let n = 1; n <= kills; n += 1) {
        service.invalidate(fate);
        await until(() => service.deaths === n, { what: 'the death of a holder' });
        await until(() => service.acceptedNow > 0, { what: 'the recovery', everyMs: 5 });
        expect(performance.now() - service.diedAt).toBeLessThanOrEqual(1.5 * settings.lockTtlMs);
        await working(service);
        fleet = [...fleet.filter(({ signalCode }) => signalCode === null), await start()];
      }
      const counts = await end(fleet);
      expect(service.issuances).toBeLessThanOrEqual(1 + kills + 2 * kills);
      expect(counts.map(({ errors }) => errors)).toEqual(fleet.map(() => []));
    },
  );

  async function start(): Promise<ChildProcess> {
    const plan: FleetPlan = {
      redisUrl: redis.url,
      prefix,
      serviceUrl: service.url,
      callers: CALLERS,
      settings,
    };
    const child = fork(new URL('support/caller.mjs', import.meta.url), [JSON.stringify(plan)]);
    await once(child, 'message');
    return child;
  }

  /**
   * Resolves when the fleet has sent a while with the current token, and that is past its grace: what an invalidation in ordinary life meets.
   */
  async function working(of: TokenServer): Promise<void> {
    const keys = keysOf(prefix, 'default').token('fleet');
    await until(
      async () => {
        if (of.acceptedNow < 4 * PROCESSES * CALLERS) return false;
        const { token } = await readTokenStatus(redis.client, keys);
        return token !== undefined && token.ageMs > settings.graceMs;
      },
      { what: 'a fleet at work' },
    );
  }
});

async function end(fleet: readonly ChildProcess[]): Promise<CallerCounts[]> {
  return await Promise.all(
    fleet.map(async (child) => {
      const message = once(child, 'message');
      const gone = once(child, 'exit');
      child.send('end');
      const [counts] = (await message) as [CallerCounts];
      await gone;
      return counts;
    }),
  );
}

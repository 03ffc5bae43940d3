import type { Job, Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { readHold } from '../../src/fleet/hold/hold-gate.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

describe('a fleet holds', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let board: Queue | undefined;

  afterEach(async () => {
    await board?.close();
    await fleet?.close();
    fleet = undefined;
  });

  async function start(processes: number): Promise<Fleet> {
    const prefix = redis.freshPrefix();
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes,
      env: {
        CONCURRENCY: '16',
        HOLD_PROBE_MIN_MS: '500',
        HOLD_PROBE_MAX_MS: '2000',
        TOKEN_REFUSED_MIN_MS: '500',
        TOKEN_REFUSED_MAX_MS: '2000',
        TOKEN_GRACE_MS: '500',
        TOKEN_MIN_AGE_MS: '1000',
      },
    });
    board = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keysOf(prefix, 'default'));
    return fleet;
  }

  const hold = (on: Fleet) =>
    readHold(redis.client, keysOf(on.env['REDIS_PREFIX'] ?? '', 'default'));

  const jobsLeft = async (): Promise<Job[]> =>
    (await board?.getJobs(['waiting', 'active', 'delayed', 'failed'])) ?? [];

  it('with a wrong secret the fleet asks once per probe; corrected, it resumes by itself', async () => {
    const on = await start(3);
    const { emulator } = on;
    emulator.setApp({ accessKey: 'emulator-access-key', secretKey: 'another' });
    await on.sendEach(numbers(300));

    await until(() => emulator.record().tokens.refused >= 4, {
      what: 'four probes',
      deadlineMs: 20_000,
    });
    const probes = emulator.issuances().filter(({ outcome }) => outcome !== 'issued');
    const gaps = probes.slice(1).map(({ at }, index) => at - (probes[index]?.at ?? 0));
    // 500 ms, doubling to 2 s: between two requests lies at least the interval that was announced.
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(Math.min(500 * 2 ** index, 2_000) - 20);
    }
    expect(await hold(on)).toMatchObject({ kind: 'credentials', code: 'INVALID_ACCESS_KEY' });
    const waiting = await jobsLeft();
    expect(waiting).toHaveLength(300);
    expect(waiting.every(({ attemptsMade }) => attemptsMade === 0)).toBe(true);
    expect(emulator.record().contacts).toBe(0);

    emulator.setApp({ accessKey: 'emulator-access-key', secretKey: 'emulator-secret-key' });
    await until(() => emulator.record().distinct === 300, {
      what: 'everything sent',
      deadlineMs: 20_000,
    });
    expect(emulator.record()).toMatchObject({ twice: 0, tokens: { issued: 1 } });
    expect(await until(async () => (await hold(on)) === undefined, { what: 'lifted' })).toBe(true);
    expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
  }, 90_000);

  it.each<[HoldKind, Omit<Fault, 'on'>]>([
    ['credit', { status: 402 }],
    ['throttled', { status: 429, retryAfter: 1 }],
    ['address', { status: 302, headers: { location: 'https://example.invalid/' } }],
    ['credentials', { status: 403, code: 'IP_NOT_ALLOWED' }],
  ])(
    '%s: held, no attempt spent, resumed by a probe',
    async (kind, fault) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', ...fault });
      await on.sendEach(numbers(200));
      await until(async () => (await hold(on))?.kind === kind, { what: `a ${kind} hold` });
      const held = await hold(on);
      expect(held?.nextProbeAt).toBeGreaterThan(held?.since ?? Infinity);

      // While it is held only probes reach the service: one at a time, further and further apart.
      await until(async () => ((await hold(on))?.failedProbes ?? 0) >= 1, {
        what: 'a failed probe',
        deadlineMs: 20_000,
      });
      const jobs = await jobsLeft();
      expect(
        jobs.every(({ attemptsMade, failedReason }) => attemptsMade === 0 && !failedReason),
      ).toBe(true);

      emulator.clearFaults();
      await until(() => emulator.record().distinct === 200, {
        what: 'everything sent',
        deadlineMs: 30_000,
      });
      expect(emulator.record().twice).toBe(0);
      expect(await until(async () => (await hold(on)) === undefined, { what: 'lifted' })).toBe(
        true,
      );
    },
    90_000,
  );
});

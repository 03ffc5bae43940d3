import { afterEach, describe, expect, it } from 'vitest';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

describe('a fleet shares one token', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  const accepted = (on: Fleet) => on.emulator.record().contacts;

  it.each([
    // The emulator sits on the issuance, so the holder dies with the lock taken.
    ['right after it took the lock', 'before-acting'],
    // The emulator has issued and never answers, so the holder dies before it can store.
    ['right after it issued', 'after-acting'],
  ] as const)(
    'survives the holder SIGKILLed %s',
    async (_name, hang) => {
      const lockTtlMs = 4_000;
      fleet = await startFleet({
        redisUrl: redis.url,
        prefix: redis.freshPrefix(),
        processes: 4,
        env: {
          CONCURRENCY: '8',
          TOKEN_LOCK_TTL_MS: String(lockTtlMs),
          ISSUE_DEADLINE_MS: '1400',
          LOCK_DURATION_MS: '10000',
          HEARTBEAT_MS: '1000',
          SEND_DEADLINE_MS: '4500',
          ANSWER_TIMEOUT_MS: '1500',
          CONNECT_TIMEOUT_MS: '500',
        },
        emulator: { tokenMode: 'single' },
      });
      const on = fleet;
      const { emulator } = fleet;
      await fleet.sendEach(numbers(200));
      await until(() => accepted(on) === 200, { what: 'the first sends', deadlineMs: 20_000 });

      emulator.addFault({ on: 'token', times: 1, hang });
      emulator.revokeTokens();
      await fleet.sendEach(numbers(400, 1_000));
      const holder = await until(
        async () => {
          const keys = await redis.keys(`${on.env['REDIS_PREFIX']}:default}:token`);
          const lock = keys.find((key) => key.endsWith(':lock'));
          const fired = emulator.faults()[0]?.fired === 1;
          const owner = lock === undefined ? null : await redis.client.get(lock);
          return fired && owner !== null
            ? on.workers.find(({ pid }) => owner.startsWith(`${pid}-`))
            : undefined;
        },
        { what: 'a holder of the lock', deadlineMs: 10_000, everyMs: 5 },
      );
      const killedAt = performance.now();
      const before = accepted(fleet);
      holder.kill('SIGKILL');
      await until(() => accepted(on) > before, {
        what: 'the first send after the kill',
        deadlineMs: 20_000,
        everyMs: 5,
      });
      const recoveredMs = performance.now() - killedAt;
      await until(() => emulator.record().distinct === 600, {
        what: 'all accepted',
        deadlineMs: 60_000,
      });

      expect(recoveredMs).toBeLessThanOrEqual(1.5 * lockTtlMs);
      // One invalidation, one kill, and the first token.
      expect(emulator.record().tokens.issued).toBeLessThanOrEqual(1 + 1 + 2);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );
});

import { afterEach, describe, expect, it } from 'vitest';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

/** issuances <= 1 + invalidations + 2 x faults; exactly one each without faults. */
describe('a fleet shares one token', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
  });

  const accepted = (on: Fleet) => on.emulator.record().contacts;

  it('4 processes x 16 jobs, 2,500 sends, 20 revocations: 1 + 20 issuances, none failed, none twice', async () => {
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix: redis.freshPrefix(),
      processes: 4,
      // A crowded machine may leave the emulator without a turn for longer than the default allows.
      // In groups all would be sent before the last tokens were asked for.
      env: {
        CONCURRENCY: '16',
        TOKEN_GRACE_MS: '50',
        ANSWER_TIMEOUT_MS: '25000',
      },
      emulator: { tokenMode: 'single' },
    });
    const { emulator } = fleet;
    const sending = fleet.sendEach(numbers(2_500));
    for (let revocation = 1; revocation <= 20; revocation++) {
      // A token is revoked once it has served: each is issued, used by some, and then dies.
      const due = revocation * 115;
      const on = fleet;
      await until(() => accepted(on) >= due && emulator.record().tokens.issued === revocation, {
        what: `${due} accepted on token ${revocation}`,
        deadlineMs: 30_000,
        everyMs: 5,
      });
      emulator.revokeTokens();
    }
    await sending;
    const on = fleet;
    await until(() => accepted(on) === 2_500, { what: 'all accepted', deadlineMs: 60_000 });

    const record = emulator.record();
    expect(record.tokens.issued).toBe(21);
    expect(record.distinct).toBe(2_500);
    expect(record.twice).toBe(0);
    const outcomes = fleet.attempts().map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'rejected' || outcome === 'unknown')).toEqual(
      [],
    );
    expect(fleet.attempts().some(({ attempt }) => Number(attempt) > 1)).toBe(false);
    const events = fleet.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
    expect(events).not.toContain('token-contested');
  }, 120_000);
});

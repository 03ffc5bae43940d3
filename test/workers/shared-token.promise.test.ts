import { expect, it } from 'vitest';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

/** issuances <= 1 + invalidations + 2 x faults; exactly one each without faults. */
it('a fleet shares one token: 4 processes x 16 jobs, 2,500 sends, 20 revocations: 1 + 20 issuances, none failed, none twice', async () => {
  const fleet = await fleetOn(redis, {
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
  const accepted = () => emulator.record().contacts;
  const sending = fleet.sendEach(numbers(2_500));
  for (let revocation = 1; revocation <= 20; revocation++) {
    // A token is revoked once it has served: each is issued, used by some, and then dies.
    const due = revocation * 115;
    await until(() => accepted() >= due && emulator.record().tokens.issued === revocation, {
      what: `${due} accepted on token ${revocation}`,
      deadlineMs: 30_000,
      everyMs: 5,
    });
    emulator.revokeTokens();
  }
  await sending;
  await until(() => accepted() === 2_500, { what: 'all accepted', deadlineMs: 60_000 });

  const record = emulator.record();
  expect(record.tokens.issued).toBe(21);
  expect(record.distinct).toBe(2_500);
  expect(record.twice).toBe(0);
  const outcomes = fleet.attempts().map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'rejected' || outcome === 'unknown')).toEqual([]);
  expect(fleet.attempts().some(({ attempt }) => Number(attempt) > 1)).toBe(false);
  const events = fleet.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
  expect(events).not.toContain('token-contested');
}, 120_000);

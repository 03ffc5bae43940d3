import { describe, expect, it } from 'vitest';
import { fleetOn, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const PRELOAD = new URL('../../support/shifted-clock.mjs', import.meta.url).href;
const TWO_MINUTES_MS = 120_000;

describe('a worker whose wall clock is wrong', () => {
  const redis = testRedis();

  /** A fleet whose first worker is not yet started. */
  async function begin(shiftMs: number): Promise<Fleet> {
    const on = await fleetOn(redis, {
      processes: 0,
      env: { NODE_OPTIONS: `--import=${PRELOAD}`, CLOCK_SHIFT_MS: String(shiftMs) },
    });
    return on;
  }
  const notice = (contact: string) => ({ templateCode: 'CLOCK', contacts: [{ contact }] });

  it('two minutes ahead: sends what is still in time, nothing early, and logs a warning', async () => {
    const { queue, emulator, workers, addWorker } = await begin(TWO_MINUTES_MS);
    await addWorker();
    const delayMs = 3_000;
    const dueAt = Date.now() + delayMs;
    await queue.send(notice('01000000001'), { delay: delayMs });
    await queue.send(notice('01000000002'), { expiresAt: Date.now() + 60_000 });
    await until(() => emulator.record().contacts === 2, { what: 'both', deadlineMs: 30_000 });
    const [first, second] = emulator.details();
    expect([first?.contact, second?.contact]).toEqual(['01000000002', '01000000001']);
    // The clock of Redis is read to within half of a round trip.
    expect(second?.at).toBeGreaterThan(dueAt - 1_500);
    const said = workers[0]?.lines.find(({ event }) => event === 'clock-skew');
    expect(Math.abs(Number(said?.['aheadMs']) - TWO_MINUTES_MS)).toBeLessThan(5_000);
  });

  it('two minutes behind: sends nothing after its deadline', async () => {
    const { queue, emulator, addWorker } = await begin(-TWO_MINUTES_MS);
    const expiresAt = Date.now() + 1_000;
    await queue.send(notice('01000000001'), { expiresAt });
    await queue.send(notice('01000000002'));
    await until(() => Date.now() > expiresAt, { what: 'the deadline to pass' });
    await addWorker();
    await until(() => emulator.record().contacts > 0, { what: 'the other', deadlineMs: 30_000 });
    expect(emulator.details().map(({ contact }) => contact)).toEqual(['01000000002']);
  });
});

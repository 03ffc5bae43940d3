import { describe, expect, it } from 'vitest';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

describe('a fleet holds', () => {
  const { start, hold, jobsLeft } = holdingFleet();

  it('with a wrong secret the fleet asks once per probe; corrected, it resumes by itself', async () => {
    const on = await start(2);
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
});

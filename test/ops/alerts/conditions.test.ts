import { describe, expect, it } from 'vitest';
import { judgeCondition, type ReportedCondition } from '../../../src/ops/alerts/conditions.ts';

const QUIET = 1_000;
const ON: ReportedCondition = { on: true, toldAt: 5_000, since: 4_900, seenOn: true, untold: 0 };
const OFF: ReportedCondition = { ...ON, on: false, seenOn: false };

describe('a condition', () => {
  it.each([
    ['never on', undefined, false, 5_000, undefined, 0, undefined],
    ['begins', undefined, true, 5_000, 'on', 0, { ...ON, since: 5_000 }],
    ['goes on', ON, true, 5_100, undefined, 0, ON],
    ['goes on beyond the quiet period', ON, true, 9_000, undefined, 0, ON],
    ['ends at once', ON, false, 5_100, 'off', 0, OFF],
    [
      'comes again in the quiet period',
      OFF,
      true,
      5_500,
      undefined,
      1,
      { ...OFF, seenOn: true, untold: 1 },
    ],
    [
      'stays in the quiet period',
      { ...OFF, seenOn: true, untold: 1 },
      true,
      5_600,
      undefined,
      1,
      { ...OFF, seenOn: true, untold: 1 },
    ],
    [
      'goes untold',
      { ...OFF, seenOn: true, untold: 1 },
      false,
      5_700,
      undefined,
      1,
      { ...OFF, untold: 1 },
    ],
    [
      'is on when the quiet period ends',
      { ...OFF, seenOn: true, untold: 7 },
      true,
      6_000,
      'on',
      7,
      { ...ON, toldAt: 6_000, since: 6_000 },
    ],
    [
      'is off when the quiet period ends',
      { ...OFF, untold: 7 },
      false,
      6_000,
      undefined,
      0,
      undefined,
    ],
  ] as const)('%s', (_, told, on, now, tell, untold, next) => {
    const verdict = judgeCondition(told, on, now, QUIET);
    expect([verdict.report, verdict.untold, verdict.reported]).toEqual([tell, untold, next]);
  });

  it('that flaps a hundred times is told twice, and what is true at last is told', () => {
    const told: string[] = [];
    let memory: ReportedCondition | undefined;
    let repeated = 0;
    for (let look = 0; look < 200; look++) {
      const verdict = judgeCondition(memory, look % 2 === 0, look * 4, QUIET);
      if (verdict.report !== undefined) told.push(verdict.report);
      memory = verdict.reported;
    }
    expect(told).toEqual(['on', 'off']);
    const verdict = judgeCondition(memory, true, 1_000, QUIET);
    repeated = verdict.untold;
    expect([verdict.report, repeated]).toEqual(['on', 99]);
  });

  it('without a quiet period is told each time', () => {
    let memory: ReportedCondition | undefined;
    const told = [true, false, true, false].map((on, look) => {
      const verdict = judgeCondition(memory, on, look, 0);
      memory = verdict.reported;
      return verdict.report;
    });
    expect(told).toEqual(['on', 'off', 'on', 'off']);
  });
});

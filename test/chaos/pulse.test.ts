import { describe, expect, it } from 'vitest';
import { mostCommands, recoveries } from './support/pulse.ts';

describe('recoveries', () => {
  it.each([
    ['one fault', [100], [400], [300]],
    ['faults apart', [100, 1_000], [400, 1_200], [300, 200]],
    ['faults before the fleet was back: the last', [100, 400, 700], [2_000], [1_300]],
    ['some of them', [100, 400, 3_000], [2_000, 3_100], [1_600, 100]],
    ['no recovery', [100], [], [Infinity]],
    ['no recovery after the last', [100, 400], [], [Infinity]],
  ] as const)('%s', (_, endedAt, times, expected) => {
    // Full speed is reached at these times.
    const backAfter = (from: number) => (times.find((at) => at >= from) ?? Infinity) - from;
    expect(recoveries(endedAt, backAfter)).toEqual(expected);
  });
});

describe('commands while nothing is taken', () => {
  const line = (at: number, commands: number, ms = 1_000) => ({
    event: 'redis-commands',
    at,
    ms,
    commands,
  });
  const other = { event: 'attempt', commands: 9_999 };

  it.each([
    ['nothing was counted', [other], NaN],
    ['no such time', [line(20_000, 70)], 0],
    ['a second within the time counts', [line(12_000, 70), line(13_000, 90), other], 90],
    ['what ends as it begins is left out', [line(11_499, 500)], 0],
    ['what begins as it ends is left out', [line(14_501, 500)], 0],
    ['a process that was late is counted by its time', [line(14_000, 300, 2_000)], 150],
  ])('%s', (_name, lines, most) => {
    const gaps = [{ from: 10_000, to: 15_000 }];
    expect(mostCommands([{ lines: [] }, { lines }], gaps)).toBe(most);
  });
});

import { expect, it } from 'vitest';
import { recoveries } from './support/pulse.ts';

/** Full speed is reached at these times. */
const backAt =
  (...times: number[]) =>
  (from: number) =>
    (times.find((at) => at >= from) ?? Infinity) - from;

it.each([
  ['one fault', [100], [400], [300]],
  ['faults apart', [100, 1_000], [400, 1_200], [300, 200]],
  ['faults before the fleet was back: the last', [100, 400, 700], [2_000], [1_300]],
  ['some of them', [100, 400, 3_000], [2_000, 3_100], [1_600, 100]],
  ['no recovery', [100], [], [Infinity]],
  ['no recovery after the last', [100, 400], [], [Infinity]],
] as const)('%s', (_, endedAt, times, expected) => {
  expect(recoveries(endedAt, backAt(...times))).toEqual(expected);
});

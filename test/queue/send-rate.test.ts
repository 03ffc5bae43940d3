import { describe, expect, it } from 'vitest';
import { SendRate } from '../../src/queue/send-rate.ts';

/** Sends at even distances, the first at `from`. */
function sends(count: number, everyMs: number, from = 0): SendRate {
  const rate = new SendRate();
  for (let index = 0; index < count; index++) rate.count(from + index * everyMs);
  return rate;
}

describe('SendRate', () => {
  it.each<[string, SendRate, at: number, windowMs: number, expected: number]>([
    ['nothing was sent', new SendRate(), 10_000, 5_000, 0],
    ['even sends', sends(1_000, 10), 10_000, 5_000, 100],
    ['even sends, a shorter look', sends(1_000, 10), 10_000, 1_000, 100],
    ['a spurt of a moment counts as a second', sends(50, 1), 100, 5_000, 50],
    ['from the first send of the window on', sends(200, 10, 8_000), 10_000, 5_000, 100],
    ['what lies before the window is forgotten', sends(100, 10), 10_000, 5_000, 0],
    ['it looks back no further than six seconds', sends(1_000, 10), 12_000, 60_000, 390 / 5.9],
    ['long after', sends(10, 10), 1e9, 5_000, 0],
  ])('%s', (_name, rate, at, windowMs, expected) => {
    expect(rate.perSecond(at, windowMs)).toBeCloseTo(expected, 6);
  });

  it('a ring that was gone round counts anew', () => {
    const rate = sends(10, 1, 0);
    rate.count(6_000);
    expect(rate.perSecond(6_050, 5_000)).toBe(1);
  });
});

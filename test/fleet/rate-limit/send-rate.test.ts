import { describe, expect, it } from 'vitest';
import { SendRate } from '../../../src/fleet/rate-limit/permit-queue.ts';

/** Sends at even distances, the first at `from`. */
function sends(count: number, everyMs: number, from = 0): SendRate {
  const rate = new SendRate();
  for (let index = 0; index < count; index++) rate.count(from + index * everyMs);
  return rate;
}

describe('SendRate', () => {
  it.each<[string, SendRate, at: number, perSecond: number, lastSecond: number]>([
    ['nothing was sent', new SendRate(), 10_000, 0, 0],
    ['even sends', sends(1_000, 10), 10_000, 100, 100],
    ['a spurt of a moment is no rate yet', sends(50, 1), 100, 0, 50],
    ['a spurt a second ago', sends(50, 1), 1_000, 50, 50],
    ['from the first send of the time on', sends(200, 10, 8_000), 10_000, 100, 100],
    ['a pause counts', sends(200, 10, 6_000), 10_000, 50, 0],
    ['what lies longer ago is forgotten', sends(100, 10), 10_000, 0, 0],
    ['long after', sends(10, 10), 1e9, 0, 0],
  ])('%s', (_name, rate, at, perSecond, lastSecond) => {
    expect(rate.perSecond(at)).toBeCloseTo(perSecond, 6);
    expect(rate.lastSecond(at)).toBe(lastSecond);
  });

  it('a ring that was gone round counts anew', () => {
    const rate = sends(10, 1, 0);
    rate.count(6_000);
    expect(rate.lastSecond(6_050)).toBe(1);
  });
});

import { describe, expect, it } from 'vitest';
import {
  decreaseEndsAt,
  effectiveRateLimit,
  type RateLimitDecrease,
  type RateLimitState,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';

const AT = 1_000_000;

/** From 40 to 20, rising from ten seconds later on; from nothing to 40 it would take 100 s. */
const FALL: RateLimitDecrease = {
  at: AT,
  from: 40,
  to: 20,
  risesFrom: AT + 10_000,
  recoveryMs: 100_000,
};

describe('effectiveRateLimit', () => {
  const none: RateLimitState = { configured: 0 };
  const set: RateLimitState = { configured: 40 };
  const fallen: RateLimitState = { ...set, fall: FALL };
  const observed: RateLimitState = { ...none, fall: FALL };

  it.each<[string, RateLimitState, number, number | undefined]>([
    ['nothing set', none, 0, undefined],
    ['configured', set, 0, 40],
    ['by hand, over the configuration', { ...set, manual: 50 }, 0, 50],
    ['by hand, where nothing is configured', { ...none, manual: 50 }, 0, 50],
    ['switched off by hand', { ...set, manual: 0 }, 0, undefined],

    ['set: right after the fall', fallen, 0, 20],
    ['set: while the hold stands', fallen, 9_999, 20],
    ['set: the rise has begun', fallen, 10_000, 20],
    ['set: half way', fallen, 35_000, 30],
    ['set: all but back', fallen, 59_000, 39.6],
    ['set: back', fallen, 60_000, 40],
    ['set: long after', fallen, 1e9, 40],
    ['set: the fall was from a higher pace', { configured: 10, fall: FALL }, 0, 10],
    ['set: it aims at the pace that is set', { configured: 400, fall: FALL }, 35_000, 120],

    ['not set: right after the fall', observed, 0, 20],
    ['not set: half way', observed, 35_000, 30],
    ['not set: what was refused', observed, 60_000, 40],
    ['not set: beyond it', observed, 80_000, 48],
    ['not set: a quarter beyond it', observed, 85_000, undefined],
    ['not set: long after', observed, 1e9, undefined],
    [
      'not set: the floor lies beyond it all',
      { ...none, fall: { ...FALL, from: 10 } },
      0,
      undefined,
    ],
    [
      'not set: too little was sent',
      { ...none, fall: { ...FALL, from: 9.9, to: 5 } },
      0,
      undefined,
    ],
    ['not set: just enough', { ...none, fall: { ...FALL, from: 10, to: 5 } }, 0, 5],
    [
      'set: it falls from whatever it was',
      { configured: 9, fall: { ...FALL, from: 9, to: 4 } },
      0,
      4,
    ],
    ['switched off, then fallen', { ...fallen, manual: 0 }, 35_000, 30],
    ['a clock that went back', fallen, -3_600_000, 20],
  ])('%s', (_name, state, afterMs, expected) => {
    const pace = effectiveRateLimit(state, AT + afterMs);
    const rounded = pace === undefined ? undefined : Math.round(pace * 1e6) / 1e6;
    expect(rounded).toBe(expected);
  });

  it.each<[string, RateLimitState, number | undefined]>([
    ['no fall', set, undefined],
    ['set', fallen, AT + 60_000],
    ['not set', observed, AT + 85_000],
    ['too little was sent', { ...none, fall: { ...FALL, from: 9, to: 4 } }, AT + 10_000],
    ['no lower than what is set', { configured: 10, fall: FALL }, AT + 10_000],
  ])('the fall is over: %s', (_name, state, expected) => {
    expect(decreaseEndsAt(state)).toBe(expected);
    const limit = state.manual ?? state.configured;
    expect(effectiveRateLimit(state, expected ?? AT)).toBe(limit === 0 ? undefined : limit);
  });
});

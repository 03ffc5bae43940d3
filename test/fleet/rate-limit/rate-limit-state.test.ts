import { describe, expect, it } from 'vitest';
import {
  decreaseEndsAt,
  effectiveRateLimit,
  type RateLimitDecrease,
  type RateLimitState,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';

const AT = 1_000_000;

/** From 40 to 20, rising from ten seconds later on; from nothing to 40 it would take 100 s. */
const DECREASE: RateLimitDecrease = {
  at: AT,
  from: 40,
  to: 20,
  risesFrom: AT + 10_000,
  recoveryMs: 100_000,
};

describe('effectiveRateLimit', () => {
  const none: RateLimitState = { configured: 0 };
  const set: RateLimitState = { configured: 40 };
  const fallen: RateLimitState = { ...set, fall: DECREASE };
  const observed: RateLimitState = { ...none, fall: DECREASE };

  it.each<[string, RateLimitState, number, number | undefined]>([
    ['nothing set', none, 0, undefined],
    ['configured', set, 0, 40],
    ['manual, instead of the configured one', { ...set, manual: 50 }, 0, 50],
    ['manual, with none configured', { ...none, manual: 50 }, 0, 50],
    ['switched off manually', { ...set, manual: 0 }, 0, undefined],

    ['set: right after the decrease', fallen, 0, 20],
    ['set: during the hold', fallen, 9_999, 20],
    ['set: the rise has started', fallen, 10_000, 20],
    ['set: half way', fallen, 35_000, 30],
    ['set: almost recovered', fallen, 59_000, 39.6],
    ['set: recovered', fallen, 60_000, 40],
    ['set: long after', fallen, 1e9, 40],
    ['set: the decrease was from a higher limit', { configured: 10, fall: DECREASE }, 0, 10],
    ['set: it rises to the configured limit', { configured: 400, fall: DECREASE }, 35_000, 120],

    ['not set: right after the decrease', observed, 0, 20],
    ['not set: half way', observed, 35_000, 30],
    ['not set: what was refused', observed, 60_000, 40],
    ['not set: beyond it', observed, 80_000, 48],
    ['not set: a quarter beyond it', observed, 85_000, undefined],
    ['not set: long after', observed, 1e9, undefined],
    ['not set: the floor is above it', { ...none, fall: { ...DECREASE, from: 10 } }, 0, undefined],
    [
      'not set: too little was sent',
      { ...none, fall: { ...DECREASE, from: 9.9, to: 5 } },
      0,
      undefined,
    ],
    ['not set: just enough', { ...none, fall: { ...DECREASE, from: 10, to: 5 } }, 0, 5],
    [
      'set: it decreases from any rate',
      { configured: 9, fall: { ...DECREASE, from: 9, to: 4 } },
      0,
      4,
    ],
    ['switched off, then decreased', { ...fallen, manual: 0 }, 35_000, 30],
    ['a clock that went back', fallen, -3_600_000, 20],
  ])('%s', (_name, state, afterMs, expected) => {
    const limit = effectiveRateLimit(state, AT + afterMs);
    const rounded = limit === undefined ? undefined : Math.round(limit * 1e6) / 1e6;
    expect(rounded).toBe(expected);
  });

  it.each<[string, RateLimitState, number | undefined]>([
    ['no decrease', set, undefined],
    ['set', fallen, AT + 60_000],
    ['not set', observed, AT + 85_000],
    ['too little was sent', { ...none, fall: { ...DECREASE, from: 9, to: 4 } }, AT + 10_000],
    ['no lower than what is set', { configured: 10, fall: DECREASE }, AT + 10_000],
  ])('the decrease is over: %s', (_name, state, expected) => {
    expect(decreaseEndsAt(state)).toBe(expected);
    const limit = state.manual ?? state.configured;
    expect(effectiveRateLimit(state, expected ?? AT)).toBe(limit === 0 ? undefined : limit);
  });
});

import { describe, expect, it } from 'vitest';
import { holdStored, parseDecision } from '../../src/token/acquire-decision.ts';
import { tokenOf } from '../../src/token/token-seal.ts';

describe('the reply of the acquire script', () => {
  it.each([
    ['with a known life', '9000', 9_000],
    ['without one', '-1', undefined],
  ])('names the stored token, %s', (_, rest, restMs) => {
    expect(parseDecision(['take', 'T1', 'sealed', '7', '250', rest, 1])).toEqual({
      kind: 'take',
      stored: { id: 'T1', sealed: 'sealed', fence: 7, ageMs: 250, restMs, proven: true },
    });
  });

  it.each<[unknown[], object]>([
    [['wait', 120], { kind: 'wait', restMs: 120 }],
    [['later'], { kind: 'later' }],
    [['lock', '8'], { kind: 'lock', fence: 8 }],
    [
      ['refused', 'contested', 'TOKEN_CONTESTED', 2_000, 1],
      { kind: 'refused', fresh: true, refusal: { kind: 'contested', restMs: 2_000 } },
    ],
  ])('%j', (reply, decision) => {
    expect(parseDecision(reply)).toMatchObject(decision);
  });

  it.each([[undefined], ['take'], [['other']]])('is refused where it is none: %j', (reply) => {
    expect(() => parseDecision(reply)).toThrow(TypeError);
  });
});

it('a stored token ends by its known life, from the time before Redis was asked', () => {
  const stored = { id: 'T1', sealed: '', fence: 7, ageMs: 250, restMs: 9_000, proven: true };
  expect(holdStored(stored, tokenOf('value'), 1_000)).toMatchObject({
    usableUntil: 10_000,
    lifeMs: 9_250,
  });
  const endless = { ...stored, restMs: undefined };
  expect(holdStored(endless, tokenOf('value'), 1_000)).toMatchObject({ usableUntil: Infinity });
});

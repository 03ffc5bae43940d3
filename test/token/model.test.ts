import { describe, expect, it } from 'vitest';
import { explore, type Mutation, type Scenario } from './support/model.ts';

const lawful: [string, Scenario][] = [
  ['cold start, 4 workers', { workers: 4, warm: false }],
  ['a token is invalidated, 4 workers', { workers: 4, invalidations: 1 }],
  ['a token is invalidated three times, 3 workers', { workers: 3, invalidations: 3 }],
  ['a lock ends early', { workers: 3, invalidations: 1, expiries: 1 }],
  ['two locks end early', { workers: 2, invalidations: 1, expiries: 2 }],
  ['a holder is killed', { workers: 3, invalidations: 1, kills: 1 }],
  [
    'a holder is killed, a lock ends early',
    { workers: 3, invalidations: 1, expiries: 1, kills: 1 },
  ],
  ['two notices at fault beside a good one', { workers: 3, poison: 2 }],
  ['a token is invalidated beside a notice at fault', { workers: 3, poison: 1, invalidations: 1 }],
  ['a lock for a notice at fault ends early', { workers: 2, poison: 1, expiries: 1 }],
];

const broken: [Mutation, Scenario][] = [
  ['no comparison', { workers: 3, invalidations: 1 }],
  ['no re-check under the lock', { workers: 3, invalidations: 1 }],
  ['no fence', { workers: 3, invalidations: 1, expiries: 1 }],
  ['no owner', { workers: 3, invalidations: 1, expiries: 1 }],
  ['no memory', { workers: 3, poison: 2 }],
];

describe('the protocol, in every order of its steps', () => {
  it.each(lawful)('keeps the promise: %s', (_, scenario) => {
    const found = explore(scenario);
    expect(found).toMatchObject({ unbounded: false, stuck: 0 });
    expect(found.mostStrayWithoutFault).toBe(0);
    // Reached, not only kept: the law cannot be said more tightly.
    expect(found.mostStray).toBe(0);
    expect(found.states).toBeGreaterThan(50);
  });

  it.each(broken)('breaks it with %s', (mutation, scenario) => {
    expect(explore(scenario).mostStray).toBeLessThanOrEqual(0);
    expect(explore({ ...scenario, mutation }, 0).mostStray).toBeGreaterThan(0);
  });

  const war: Scenario = { workers: 3, invalidations: 3, budget: 2 };
  it('issues no more than the budget in its window, and goes on afterwards', () => {
    expect(explore(war)).toMatchObject({ mostSpent: 2, mostStray: 0, unbounded: false, stuck: 0 });
  });

  it('exceeds it with no budget', () => {
    expect(explore({ ...war, mutation: 'no budget' }).mostSpent).toBeGreaterThan(2);
  });
});

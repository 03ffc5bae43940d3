import { describe, expect, it } from 'vitest';
import { explore, type Mutation, type Scenario } from './support/model.ts';

const quiet = { expiries: 0, kills: 0 };

const lawful: [string, Scenario][] = [
  ['cold start, 4 workers', { workers: 4, warm: false, invalidations: 0, ...quiet }],
  ['a token is invalidated, 4 workers', { workers: 4, warm: true, invalidations: 1, ...quiet }],
  [
    'a token is invalidated three times, 3 workers',
    { workers: 3, warm: true, invalidations: 3, ...quiet },
  ],
  ['a lock ends early', { workers: 3, warm: true, invalidations: 1, expiries: 1, kills: 0 }],
  ['two locks end early', { workers: 2, warm: true, invalidations: 1, expiries: 2, kills: 0 }],
  ['a holder is killed', { workers: 3, warm: true, invalidations: 1, expiries: 0, kills: 1 }],
  [
    'a holder is killed, a lock ends early',
    { workers: 3, warm: true, invalidations: 1, expiries: 1, kills: 1 },
  ],
];

const replaced: Scenario = { workers: 3, warm: true, invalidations: 2, ...quiet };

const broken: [Mutation, Scenario][] = [
  ['no comparison', { workers: 3, warm: true, invalidations: 1, ...quiet }],
  ['no re-check under the lock', { workers: 3, warm: true, invalidations: 1, ...quiet }],
  ['no fence', { workers: 3, warm: true, invalidations: 1, expiries: 1, kills: 0 }],
];

describe('the protocol, in every order of its steps', () => {
  it.each(lawful)('keeps the guarantee: %s', (_, scenario) => {
    const found = explore(scenario);
    expect(found).toMatchObject({ unbounded: false, stuck: 0 });
    expect(found.mostStrayWithoutFault).toBe(0);
    // Reached, not only kept: the law cannot be said more tightly.
    expect(found.mostStray).toBe(0);
    expect(found.states).toBeGreaterThan(50);
  });

  it('keeps the guarantee in a token war, which ends for every worker', () => {
    const found = explore({ ...replaced, war: true });
    expect(found).toMatchObject({ unbounded: false, stuck: 0, mostStray: 0 });
    // Tokens were contested on the way.
    expect(found.states).toBeGreaterThan(explore(replaced).states);
  });

  it.each(broken)('breaks it with %s', (mutation, scenario) => {
    expect(explore(scenario).mostStray).toBeLessThanOrEqual(0);
    expect(explore({ ...scenario, mutation }).mostStray).toBeGreaterThan(0);
  });
});

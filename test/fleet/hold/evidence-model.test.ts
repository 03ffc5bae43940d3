import { describe, expect, it } from 'vitest';
import { explore, type Mutation, type Scenario } from './support/evidence-model.ts';

const TWO: Scenario = { jobs: 2, attempts: 3, renewals: 1 };
const STATED: Scenario = { jobs: 2, attempts: 3, renewals: 0, stated: 1 };
const THREE: Scenario = { jobs: 3, attempts: 2, renewals: 0 };

const broken: [Mutation, Scenario, 'ownWithoutCause' | 'holdsOfFew'][] = [
  ['no token in the witness', TWO, 'ownWithoutCause'],
  ['any acceptance proves', TWO, 'ownWithoutCause'],
  ['one record of all meetings', STATED, 'ownWithoutCause'],
  ['memory rejects', TWO, 'ownWithoutCause'],
  ['a row of meetings', THREE, 'holdsOfFew'],
];

describe('the rules of evidence, in every order of requests, answers, hints and renewals', () => {
  it.each([
    ['two notices, a renewal', TWO],
    ['two notices that also get answers of all', STATED],
    ['three notices', THREE],
  ])(
    'reject none without an acceptance in between, and hold for no fewer than three: %s',
    (_, one) => {
      const found = explore(one);
      expect(found).toMatchObject({ ownWithoutCause: 0, holdsOfFew: 0 });
      expect(found.own).toBeGreaterThan(0);
      expect(found.states).toBeGreaterThan(500);
      expect(found.holds > 0).toBe(one.jobs === 3);
    },
  );

  it.each(broken)('do not with %s', (mutation, scenario, what) => {
    const found = explore({ ...scenario, mutation }, (sofar) => sofar[what] > 0);
    expect(found[what]).toBeGreaterThan(0);
  });
});

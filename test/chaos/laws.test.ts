import { describe, expect, it } from 'vitest';
import { brokenLaws, LAWS, type Promises, type Verdict } from './support/laws.ts';

/** A verdict that keeps every law under both policies. */
const GOOD: Verdict = {
  delivery: 'at-least-once',
  listed: 100,
  sum: 100,
  looks: 50,
  wrongSums: 0,
  handedOver: 110,
  lost: 0,
  twice: 0,
  uncounted: 0,
  unnamed: 0,
  unknown: 0,
  setAside: 0,
  forgotten: 0,
  again: 0,
  misreported: 0,
  phantom: 0,
  misled: 0,
  bad: 3,
  badAmiss: 0,
  issued: 1,
  invalidated: 0,
  faults: 1,
  strikes: 1,
  repeated: 0,
  inDoubt: 0,
  mostTaken: 1,
  mostAllowed: 3,
  mostRequests: 2,
  requestBound: 23,
  longestWaitMs: 400,
  onDead: 0,
  late: 0,
  fallen: 0,
  mostCommands: 500,
  recoveriesMs: [900],
  longestGapMs: 900,
  holds: new Set(['credit']),
  holdLeft: false,
};

const PROMISES: Promises = {
  boundMs: 1_000,
  hold: 'credit',
  harmless: true,
  exactTokens: true,
  inDoubt: 3,
  waitMs: 1_000,
};
const AMO = { delivery: 'at-most-once' } as const;

interface Break {
  readonly law: string;
  readonly by: Partial<Verdict>;
  readonly promises: Promises;
}

const row = (law: string, by: Partial<Verdict>, promises: Promises = PROMISES): Break => ({
  law,
  by,
  promises,
});

const BREAKS: readonly Break[] = [
  row('the faults struck', { strikes: 0 }),
  row('the faults struck', { faults: 0 }),
  row('the states of the batch add up at every look', { wrongSums: 1 }),
  row('the states of the batch add up at every look', { looks: 3 }),
  row('the batch counts every contact once', { sum: 101 }),
  row('nothing is lost', { lost: 1 }),
  row('at-most-once: nobody gets it twice', { ...AMO, twice: 1 }, {}),
  row('at-most-once: nobody gets it twice', { ...AMO, again: 1 }, {}),
  row('at-most-once: no request meets a connection that was kept and died', { ...AMO, onDead: 1 }),
  row(
    'at-least-once: every duplicate is counted as possibly sent twice, in its lane',
    { twice: 3, again: 2, uncounted: 1 },
    {},
  ),
  row(
    'at-least-once: every single notice accepted twice is named in the log',
    { twice: 1, again: 1, unnamed: 1 },
    {},
  ),
  row('at-least-once: nothing is set aside while resends are left', { setAside: 1 }),
  row('the service takes a contact 1 + UNKNOWN_RESENDS times at most', { mostTaken: 4 }),
  row('commands and metrics report the same', { misreported: 1 }),
  row('what the service refuses for itself is rejected', { badAmiss: 1 }),
  row('good notices do not wait for bad ones', { longestWaitMs: 1_001 }),
  row('good notices do not wait for bad ones', { longestWaitMs: NaN }),
  row('requests of a notice <= 2 x ATTEMPTS + UNKNOWN_RESENDS + 1 + its probes', {
    mostRequests: 24,
  }),
  row('possibly sent is at most what was in flight, and probes', { inDoubt: 4 }),
  row('what counts as accepted is in the record of the service', { phantom: 1 }),
  row('nothing ends in another state than accepted or unknown', { misled: 1 }),
  row('issuances <= 1 + invalidations + 2 x faults', { issued: 5, invalidated: 1 }, {}),
  row('issuances <= 1 + invalidations where no issuance is disturbed', {
    issued: 3,
    invalidated: 1,
  }),
  row('what lost its lock sends nothing', { late: 1 }),
  row('no worker falls', { fallen: 1 }),
  row('no process sends more than so many commands a second to Redis while nothing is taken', {
    mostCommands: 501,
  }),
  row('no process sends more than so many commands a second to Redis while nothing is taken', {
    mostCommands: NaN,
  }),
  row('it recovers within its bound', { recoveriesMs: [900, 1_001] }),
  row('it recovers within its bound', { recoveriesMs: [Infinity] }),
  row('it recovers within its bound', { recoveriesMs: [] }),
  row('the hold is named for its cause', { holds: new Set(['address']) }),
  row('no hold is left', { holdLeft: true }),
  row('what is harmless spends no attempt and leaves no doubt', { repeated: 1 }),
  row('what is harmless spends no attempt and leaves no doubt', { ...AMO, unknown: 1 }),
];

describe('the laws of the suite', () => {
  it.each(['at-least-once', 'at-most-once'] as const)(
    'all hold for a good verdict, %s',
    (delivery) => {
      expect(brokenLaws({ ...GOOD, delivery }, PROMISES)).toEqual([]);
    },
  );

  it.each(BREAKS)('$law, broken by $by', ({ law, by, promises }) => {
    const broken = brokenLaws({ ...GOOD, ...by }, promises);
    expect(broken).toHaveLength(1);
    expect(broken[0]).toContain(`${law}: `);
  });

  it('are each broken by a row', () => {
    expect(new Set(BREAKS.map(({ law }) => law))).toEqual(new Set(LAWS.map(({ name }) => name)));
  });

  it('allow what Redis itself has forgotten', () => {
    const forgetful = { ...GOOD, twice: 5, mostTaken: 4, forgotten: 5 };
    expect(brokenLaws({ ...forgetful, ...AMO }, {})).toEqual([]);
    expect(brokenLaws({ ...forgetful, uncounted: 5, unnamed: 5 }, {})).toEqual([]);
    // One attempt at each contact, not five at one of them.
    expect(brokenLaws({ ...forgetful, mostTaken: 5 }, {})).toHaveLength(1);
  });
});

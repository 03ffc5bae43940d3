import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { explore, type Scenario } from './support/explore-notice.ts';
import { RULES, type Answer, type Law, type Rules, type Troubles } from './support/notice-world.ts';

const twice: DeliveryPolicy = 'at-least-once';
const once: DeliveryPolicy = 'at-most-once';
const one = (
  delivery: DeliveryPolicy,
  answers: readonly Answer[],
  troubles: Partial<Troubles>,
) => ({
  delivery,
  answers,
  troubles,
});

const ALL: Answer[] = [
  'accepted',
  'accepted, lost',
  'lost',
  'rejected',
  'busy',
  'no credit',
  'aborted',
];
const KNOWN: Answer[] = ['accepted', 'accepted, lost', 'rejected'];
const LATER: Answer[] = ['accepted', 'accepted, lost', 'busy'];
const LOST: Answer[] = ['accepted, lost', 'rejected'];
const DEATHS = { kills: 1, losses: 1, refusals: 1 };
const PERSON = { cancels: 1, expiries: 1, losses: 1 };
const AGAIN = { redrives: 1, losses: 2 };

const SCENARIOS = {
  'every answer': one(twice, ALL, { returns: 1 }),
  'every answer, at-most-once': one(once, ALL, { returns: 1 }),
  'killed and stalled workers': one(twice, KNOWN, DEATHS),
  'killed and stalled workers, twice': one(twice, LOST, { ...DEATHS, losses: 2 }),
  'killed and stalled workers, at-most-once': one(once, KNOWN, DEATHS),
  'lost replies, and a removal': one(twice, ['accepted', 'lost'], {
    repeats: 2,
    losses: 1,
    removals: 1,
  }),
  'a person cancels, and the deadline passes': one(twice, LATER, PERSON),
  'a person cancels, at-most-once': one(once, LATER, PERSON),
  'the deadline passes for a worker that has lost the job': one(twice, ['accepted, lost'], {
    kills: 1,
    losses: 2,
    expiries: 1,
  }),
  'a person sends it again': one(twice, LOST, AGAIN),
  'a person sends it again, at-most-once': one(once, KNOWN, AGAIN),
} satisfies Readonly<Record<string, Scenario>>;

const WRONG: readonly [string, Law, keyof typeof SCENARIOS, Partial<Rules>][] = [
  [
    'what is sent again is not counted',
    'accepted twice and not counted',
    'every answer',
    { countsAgain: false },
  ],
  [
    'a worker without the lock moves the job',
    'ended twice',
    'killed and stalled workers',
    { checksLock: false },
  ],
  [
    'an add is known only while its job is there',
    'accepted twice and not counted',
    'lost replies, and a removal',
    { knowsAdds: false },
  ],
  [
    'what was possibly sent is cancelled',
    'sent after it was cancelled',
    'a person cancels, and the deadline passes',
    { cancelsUnsentOnly: false },
  ],
  [
    'what a worker has is cancelled',
    'sent after it was cancelled',
    'a person cancels, and the deadline passes',
    { cancelsIdleOnly: false },
  ],
  ['nobody looks for stalled jobs', 'stuck', 'killed and stalled workers', { findsStalled: false }],
  [
    'a later run does not look whether its notice has ended',
    'ended twice',
    'killed and stalled workers',
    { knowsEnds: false },
  ],
  [
    'an earlier attempt is forgotten at the end',
    'rejected although it was accepted',
    'a person cancels, and the deadline passes',
    { knownAfter: (outcome) => outcome },
  ],
  [
    'an earlier attempt does not forbid a request',
    'at-most-once, and sent again',
    'killed and stalled workers, at-most-once',
    { earlierOutcome: () => undefined },
  ],
  [
    'resends have no limit',
    'sent too often',
    'killed and stalled workers',
    { earlierOutcome: () => undefined },
  ],
  [
    'what may have been sent ends as rejected',
    'rejected although it was accepted',
    'every answer, at-most-once',
    { endOf: (outcome) => outcome && { state: 'rejected', code: '' } },
  ],
];

describe('a single notice, two workers, in every order of their steps', () => {
  it.each(Object.entries(SCENARIOS))(
    'keeps the laws: %s',
    (_, scenario) => {
      const found = explore(scenario, RULES);
      expect([...found.broken]).toEqual([]);
      expect(found.states).toBeGreaterThan(200);
      expect(found.ends).toContain('unknown');
    },
    60_000,
  );

  it.each(WRONG)(
    'breaks them where %s',
    (_, law, scenario, wrong) => {
      const rules = { ...RULES, ...wrong };
      expect(explore(SCENARIOS[scenario], rules, law).broken).toContain(law);
    },
    60_000,
  );
});

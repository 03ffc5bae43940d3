import { describe, expect, it } from 'vitest';
import { simulate, type Answer, type Outcome, type Simulation } from './support/simulated-fleet.ts';

const states = ({ notices }: Outcome) => {
  const counts = { waiting: 0, accepted: 0, rejected: 0, unknown: 0 };
  for (const { state } of notices) counts[state]++;
  return counts;
};
/** Two processes of forty requests at a time, unless said otherwise. */
const play = (given: Omit<Simulation, 'processes' | 'slots'> & { slots?: number }) =>
  simulate({ processes: 2, slots: 40, ...given });
const many = (count: number, template: string, poison = false) =>
  Array.from({ length: count }, () => ({ template, poison }));

describe('a service that fails a little', () => {
  const run = (slots: number, answer: Answer, share: number) =>
    play({
      slots,
      seconds: slots === 400 ? 10 : 120,
      answer: (_, __, ___, random) => (random < share ? answer : 'accepted'),
    });
  const answers: Answer[] = ['error', 'not-sent', 'throttled', 'page'];
  const cases = answers.flatMap((answer) =>
    [1, 2, 5, 10, 30].flatMap((percent) =>
      [1, 40, 400].map((slots): [number, Answer, number] => [percent, answer, slots]),
    ),
  );
  const undisturbed = new Map(
    [1, 40, 400].map((slots) => [slots, run(slots, 'error', 0).accepted]),
  );

  it.each(cases)(
    '%i percent of "%s" at random, %i requests at a time: the rate stays',
    (percent, answer, slots) => {
      const out = run(slots, answer, percent / 100);
      const bound = 0.9 * (1 - percent / 100) * (undisturbed.get(slots) ?? Infinity);
      expect(out.accepted).toBeGreaterThanOrEqual(bound);
      // A page that comes at random is taken for a notice's own where it comes five times.
      const byChance = answer === 'page' ? 2 * (percent / 100) ** 5 * out.accepted : 0;
      expect(states(out).rejected).toBeLessThanOrEqual(Math.ceil(byChance));
    },
  );
});

describe('an outage of everything', () => {
  it.each<[Answer, number]>([
    ['error', 1],
    ['error', 40],
    ['error', 400],
    ['not-sent', 40],
    ['page', 40],
    ['rejected', 40],
    ['refused', 40],
    ['throttled', 40],
  ])(
    '"%s", %i requests at a time: held within two seconds, uses up nothing, ends by itself',
    (answer, slots) => {
      const [from, to] = [10_000, 70_000];
      const out = play({
        slots,
        seconds: 200,
        notices: many(slots * 2 * 130, 'T'),
        answer: (_, at) => (at >= from && at < to ? answer : 'accepted'),
      });
      expect(Math.min(out.firstHoldAt, out.firstTemplateHoldAt) - from).toBeLessThan(2_000);
      expect(states(out)).toEqual({
        waiting: 0,
        accepted: out.notices.length,
        rejected: 0,
        unknown: 0,
      });
      expect(Math.max(...out.notices.map(({ attempts }) => attempts))).toBe(0);
      // In flight, started before the first of them came back, and the probes of a minute.
      expect(out.doubtful).toBeLessThanOrEqual(answer === 'error' ? 2 * 2 * slots + 2 * 12 + 8 : 0);
    },
  );

  it('an hour of 5xx: nothing becomes unknown', () => {
    const out = play({
      slots: 20,
      seconds: 5_000,
      notices: many(3_000, 'T'),
      answer: (_, at) => (at < 3_600_000 ? 'error' : 'accepted'),
    });
    expect(states(out)).toMatchObject({ accepted: 3_000, unknown: 0 });
    expect(out.doubtful).toBeLessThan(150);
    expect(out.lastAcceptedAt).toBeLessThan(3_600_000 + 65_000);
  });

  it('nine of ten fail for hours: few are sent, none becomes unknown', () => {
    const out = play({
      slots: 20,
      seconds: 20_000,
      notices: many(1_000, 'T'),
      answer: (_, __, ___, random) => (random < 0.9 ? 'error' : 'accepted'),
    });
    expect(states(out).unknown).toBeLessThan(10);
  });
});

describe('one worker of three is cut off', () => {
  it.each<Answer>(['not-sent', 'error'])('"%s": the others go on', (answer) => {
    const run = (processes: number, cut: number) =>
      simulate({
        processes,
        slots: 40,
        seconds: 120,
        answer: (_, at, process) => (process === cut && at > 10_000 ? answer : 'accepted'),
      });
    const out = run(3, 0);
    expect(out.accepted).toBeGreaterThan(0.95 * run(2, -1).accepted);
    expect(out.heldMs).toBeLessThan(2_000);
    expect(states(out).rejected).toBe(0);
  });
});

describe('how often the fleet is held', () => {
  const seeds = Array.from({ length: 8 }, (_, n) => n + 1);
  const holdsOf = (given: Omit<Simulation, 'seed' | 'seconds'>) =>
    seeds.map((seed) => simulate({ ...given, seed, seconds: 90 }).holds);
  const slots = [2, 5, 20];

  it.each(slots)(
    'two of four workers are cut off, %i requests at a time: twice at most',
    (many) => {
      const holds = holdsOf({
        processes: 4,
        slots: many,
        answer: (_, at, process) => (process < 2 && at > 10_000 ? 'not-sent' : 'accepted'),
      });
      expect(Math.max(...holds)).toBeLessThanOrEqual(2);
    },
  );

  it.each(slots.flatMap((many) => [2_000, 60_000].map((ms): [number, number] => [many, ms])))(
    'an outage of all after which 5 percent fail, %i requests at a time, %i ms: once',
    (many, ms) => {
      const holds = holdsOf({
        processes: 4,
        slots: many,
        answer: (_, at, __, random) =>
          (at > 10_000 && at < 10_000 + ms) || (at >= 10_000 + ms && random < 0.05)
            ? 'not-sent'
            : 'accepted',
      });
      expect(holds).toEqual(seeds.map(() => 1));
    },
  );
});

describe('a gateway that lost its route', () => {
  it.each([1, 30])('%i templates: nothing stays rejected', (templates) => {
    const out = play({
      seconds: 400,
      notices: Array.from({ length: 3_000 }, (_, n) => ({ template: `T${n % templates}` })),
      answer: (_, at) => (at < 300_000 ? 'rejected' : 'accepted'),
    });
    expect(states(out)).toMatchObject({ accepted: 3_000 });
    expect(out.lastAcceptedAt).toBeLessThan(300_000 + 35_000);
    expect(Math.max(...out.notices.map(({ requests }) => requests))).toBeLessThan(20);
  });
});

describe('notices at fault', () => {
  it.each<Answer>(['throttled', 'error', 'refused', 'page', 'rejected'])(
    'one that alone is answered "%s" disturbs no other',
    (answer) => {
      const out = play({
        seconds: 300,
        notices: [{ template: 'T', poison: true }, ...many(100_000, 'T')],
        answer: ({ poison }) => (poison ? answer : 'accepted'),
      });
      expect(out).toMatchObject({ holds: 0, pauses: 0, accepted: 100_000 });
    },
  );

  it.each<[Answer, number]>([
    ['refused', 3],
    ['rejected', 1],
    ['page', 5],
  ])('one that alone is answered "%s" is rejected after at most %i requests', (answer, most) => {
    const out = play({
      slots: 4,
      seconds: 300,
      notices: [{ template: 'T', poison: true }],
      endless: true,
      answer: ({ poison }) => (poison ? answer : 'accepted'),
    });
    const own = out.notices.find(({ poison }) => poison);
    expect(own?.state).toBe('rejected');
    expect(own?.requests).toBeLessThanOrEqual(most);
  });

  const poison: Answer[] = ['refused', 'rejected', 'page'];
  it.each(poison.flatMap((answer) => [1, 20].map((slots): [Answer, number] => [answer, slots])))(
    '300 answered "%s" in front of 300 good ones, %i requests at a time: another template is not held up',
    (answer, slots) => {
      const notices = [...many(300, 'T', true), ...many(300, 'G')];
      const out = play({
        slots,
        seconds: 600,
        notices,
        answer: (notice) => (notice.poison ? answer : 'accepted'),
      });
      const alone = play({
        slots,
        seconds: 600,
        notices: many(300, 'G'),
        answer: () => 'accepted',
      });
      expect(states(out).accepted).toBe(300);
      expect(out.lastAcceptedAt).toBeLessThan(alone.lastAcceptedAt + 5_000);
    },
  );

  it.each(poison.flatMap((answer) => [1, 20].map((slots): [Answer, number] => [answer, slots])))(
    '300 answered "%s" in front of 300 good ones of the same template, %i requests at a time: all end as they should',
    (answer, slots) => {
      const out = play({
        slots,
        seconds: 3_600,
        notices: [...many(300, 'T', true), ...many(300, 'T')],
        answer: (notice) => (notice.poison ? answer : 'accepted'),
      });
      expect(states(out)).toMatchObject({ accepted: 300 });
      const first = Math.min(...out.notices.slice(300).map(({ endedAt }) => endedAt));
      expect(first).toBeLessThan(slots === 1 ? 120_000 : 60_000);
    },
  );
});

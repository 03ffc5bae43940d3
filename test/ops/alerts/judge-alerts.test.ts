import { describe, expect, it } from 'vitest';
import type { BatchEvent } from '../../../src/batch/ledger/batch-events.ts';
import { HOLDS, type Hold, type HoldKind } from '../../../src/contracts/hold.ts';
import type { AlertMemory, AlertSnapshot } from '../../../src/ops/alerts/alert-snapshot.ts';
import { judgeAlerts } from '../../../src/ops/alerts/judge-alerts.ts';

const QUIET = 300_000;
const LIMITS = { quietMs: QUIET, failedNotices: 100, failedPercent: 20 };
const START = 1_700_000_000_000;

const SIGHT: AlertSnapshot = {
  now: START,
  hold: undefined,
  workers: 2,
  waiting: 0,
  unknownNotices: 0,
  ends: { accepted: 100, rejected: 0, unknown: 0, expired: 0 },
  memory: { used: 10, limit: 100 },
  batchEvents: [],
  cursor: '0',
};

/** A sight; others looked in between, unless it comes after a gap in which nobody did. */
type Look = Partial<AlertSnapshot> & { readonly gap?: true };

/** Looks one after the other, five seconds apart unless they say when; answers what each told. */
function told(...sights: readonly Look[]) {
  let memory: AlertMemory | undefined;
  let now = START - 5_000;
  return sights.map(({ gap, ...sight }) => {
    now = sight.now ?? now + 5_000;
    if (memory !== undefined && gap === undefined) memory = { ...memory, lookedAt: now - 5_000 };
    const judged = judgeAlerts(memory, { ...SIGHT, ...sight, now }, LIMITS);
    // It goes through Redis as JSON.
    memory = JSON.parse(JSON.stringify(judged.memory)) as AlertMemory;
    return judged.alerts;
  });
}

const names = (...sights: readonly Look[]) =>
  told(...sights).map((alerts) => alerts.map(({ event }) => event));

const held = (kind: HoldKind): Hold => ({
  kind,
  code: 'CODE',
  since: START - 1_000,
  nextProbeAt: kind === 'manual' ? 0 : START + 60_000,
  failedProbes: 0,
});

describe('holds', () => {
  it.each(Object.keys(HOLDS) as HoldKind[])(
    '%s: begun and ended, with reason and remedy',
    (kind) => {
      const [begun, , ended] = told({ hold: held(kind) }, { hold: held(kind) }, {});
      expect(begun).toMatchObject([
        { event: 'hold.begun', remedy: HOLDS[kind].remedy, data: { kind } },
      ]);
      expect(begun?.[0]?.title).toContain(HOLDS[kind].reason);
      expect(ended).toMatchObject([{ event: 'hold.ended', data: { kind, lastedMs: 11_000 } }]);
    },
  );

  it('by hand: what the person gave as the reason is not told', () => {
    const hold = { ...held('manual'), code: 'call 01012345678' };
    expect(JSON.stringify(told({ hold }, {}))).not.toContain('01012345678');
    expect(told({ hold: held('credit') })[0]?.[0]?.data['code']).toBe('CODE');
  });

  it('of another kind: the first ended, the other begun; sending does not resume', () => {
    const [first, second, last] = told(
      { hold: held('throttled') },
      { hold: held('credentials') },
      {},
    );
    expect(first?.map(({ event }) => event)).toEqual(['hold.begun']);
    expect(second).toMatchObject([
      { event: 'hold.ended', data: { kind: 'throttled', heldBy: 'credentials' } },
      { event: 'hold.begun', data: { kind: 'credentials' } },
    ]);
    expect(second?.[0]?.title).not.toContain('sending resumes');
    expect(last).toMatchObject([{ event: 'hold.ended', data: { kind: 'credentials' } }]);
    expect(last?.[0]?.title).toContain('sending resumes');
    expect(last?.[0]?.data).not.toHaveProperty('heldBy');
  });

  it('of alternating kinds: the end of one is not reported before the begin of the next', () => {
    const failing = { hold: held('failing') };
    const unreachable = { hold: held('unreachable') };
    const kinds = (looks: readonly Look[]) =>
      told(...looks).map((some) =>
        some.map(({ event, data }) => `${event} ${data['kind'] as string}`),
      );
    const first = [
      ['hold.begun failing'],
      ['hold.ended failing', 'hold.begun unreachable'],
      // In the quiet period of the first kind the other one stays in the place of it.
      [],
      [],
    ];
    expect(kinds([failing, unreachable, failing, failing, {}])).toEqual([
      ...first,
      ['hold.ended unreachable'],
    ]);
    expect(
      kinds([failing, unreachable, failing, failing, { ...failing, now: START + QUIET }, {}]),
    ).toEqual([...first, ['hold.ended unreachable', 'hold.begun failing'], ['hold.ended failing']]);
  });

  it('one that flaps is told once in the quiet period, then with the number of times', () => {
    const hold = { hold: held('throttled') };
    const alerts = told(hold, {}, hold, {}, hold, {}, { ...hold, now: START + QUIET });
    expect(alerts.map((some) => some.map(({ event }) => event))).toEqual([
      ['hold.begun'],
      ['hold.ended'],
      [],
      [],
      [],
      [],
      ['hold.begun'],
    ]);
    expect(alerts.at(-1)?.[0]?.repeated).toBe(2);
  });
});

describe('workers', () => {
  const none = { workers: 0, waiting: 7 };

  it('missing for half a minute while jobs wait, and back', () => {
    const looks = Array.from({ length: 7 }, () => none);
    const alerts = told({}, ...looks, {}).slice(-2);
    expect(alerts[0]).toMatchObject([{ event: 'workers.none', data: { waiting: 7 } }]);
    expect(alerts[1]).toMatchObject([{ event: 'workers.back', data: { awayMs: 35_000 } }]);
    expect(names({}, ...looks.slice(1), {}).flat()).toEqual([]);
  });

  it('missing is told at once by the last that leaves, and not where nothing waits', () => {
    expect(names({}, { ...none, leaving: true })[1]).toEqual(['workers.none']);
    expect(names({}, { workers: 0, leaving: true })[1]).toEqual([]);
    expect(names({}, { workers: 1, waiting: 7, leaving: true })[1]).toEqual([]);
  });

  it('stay missing where nothing waits any more, until one is back', () => {
    const alerts = names({}, { ...none, leaving: true }, { workers: 0 }, {});
    expect(alerts).toEqual([[], ['workers.none'], [], ['workers.back']]);
  });

  it('that died without a report are reported at the next look', () => {
    const [, back] = told({}, { gap: true, now: START + 600_000 });
    expect(back).toMatchObject([{ event: 'workers.back', data: { awayMs: 600_000 } }]);
    expect(names({}, { gap: true, now: START + 59_000 }).flat()).toEqual([]);
    // It was told already that they are gone: once is enough.
    expect(names({}, { ...none, leaving: true }, { gap: true, now: START + 600_000 })[2]).toEqual([
      'workers.back',
    ]);
  });
});

describe('memory', () => {
  const used = (used: number) => ({ memory: { used, limit: 100 } });

  it('is near its limit from 85 % on, and eased below 80 %', () => {
    const looks = [used(84), used(85), used(80), used(85), used(79), used(84)];
    expect(names(...looks)).toEqual([[], ['memory.near'], [], [], ['memory.eased'], []]);
    expect(told(used(85))[0]).toMatchObject([{ data: { usedBytes: 85, percent: 85 } }]);
  });

  it('without a limit is never near', () => {
    expect(names({ memory: { used: 1e12, limit: 0 } })).toEqual([[]]);
    expect(names(used(90), { memory: { used: 90, limit: 0 } })).toEqual([
      ['memory.near'],
      ['memory.eased'],
    ]);
  });
});

describe('batches', () => {
  const head = { cursor: '1-0', at: START, batch: 'autumn' };
  const finished: BatchEvent = {
    ...head,
    event: 'batch.finished',
    phase: 'finished',
    total: 10,
    accepted: 8,
    rejected: 1,
    unknown: 1,
    expired: 0,
    cancelled: 0,
    possiblySentTwice: 2,
    maybeTwice: 2,
  };
  const stalled: BatchEvent = { ...head, event: 'batch.stalled', pending: 5 };

  it('finished, with the figures, each time', () => {
    const [alerts] = told({ batchEvents: [finished, finished] });
    expect(alerts).toHaveLength(2);
    expect(alerts?.[0]).toMatchObject({
      event: 'batch.finished',
      data: {
        batch: 'autumn',
        total: 10,
        accepted: 8,
        rejected: 1,
        unknown: 1,
        possiblySentTwice: 2,
        maybeTwice: 2,
      },
    });
    expect(alerts?.[0]?.remedy).toContain('notices failures');
    const all = { ...finished, accepted: 10, rejected: 0, unknown: 0 };
    expect(told({ batchEvents: [all] })[0]?.[0]?.remedy).toBe('none needed');
  });

  it('stalled, once in the quiet period for each batch', () => {
    const other = { ...stalled, batch: 'winter' };
    expect(
      names(
        { batchEvents: [stalled, stalled, other] },
        { batchEvents: [stalled] },
        { batchEvents: [stalled], now: START + QUIET },
      ),
    ).toEqual([['batch.stalled', 'batch.stalled'], [], ['batch.stalled']]);
  });

  it('of which a contact was rejected tell it at their end', () => {
    const rejected: BatchEvent = {
      ...head,
      event: 'contact.rejected',
      failure: '0.1',
      contacts: 1,
      code: 'C',
    };
    expect(names({ batchEvents: [rejected] })).toEqual([[]]);
  });

  it('near the end of their retention, once, and single notices too', () => {
    const near = [
      { batch: 'autumn', count: 4, keptUntil: START + 60_000 },
      { batch: '', count: 9, keptUntil: START + 90_000 },
    ];
    const kept = { kept: { unknownContacts: 0, near } };
    const none = { kept: { unknownContacts: 0, near: [] } };
    const alerts = told(kept, {}, kept, none);
    expect(alerts.map((some) => some.length)).toEqual([2, 0, 0, 0]);
    expect(alerts[0]).toMatchObject([
      { event: 'retention.near', data: { batch: 'autumn', contacts: 4 } },
      { event: 'retention.near', data: { notices: 9 } },
    ]);
  });

  it('are remembered no longer than they matter', () => {
    const near = [{ batch: 'autumn', count: 4, keptUntil: START }];
    const first = judgeAlerts(
      undefined,
      { ...SIGHT, batchEvents: [stalled], kept: { unknownContacts: 0, near } },
      LIMITS,
    ).memory;
    expect(Object.keys(first.told).sort()).toEqual(['near:autumn', 'stalled:autumn']);
    const gone = { ...SIGHT, kept: { unknownContacts: 0, near: [] } };
    const second = judgeAlerts(first, { ...gone, now: START + QUIET }, LIMITS).memory;
    const third = judgeAlerts(second, { ...gone, now: START + 2 * QUIET }, LIMITS).memory;
    expect(third.told).toEqual({});
  });
});

describe('unknown outcomes', () => {
  it('are told when there are more than were told, once in the quiet period', () => {
    const alerts = told(
      { unknownNotices: 2 },
      { unknownNotices: 2 },
      { unknownNotices: 5 },
      { unknownNotices: 5, now: START + QUIET },
      { unknownNotices: 1, now: START + QUIET + 5_000 },
      { unknownNotices: 2, now: START + 2 * QUIET },
    );
    expect(alerts.map((some) => some.map(({ data }) => data['notices']))).toEqual([
      [2],
      [],
      [],
      [5],
      [],
      [2],
    ]);
  });

  it('of batches count as well, also between the looks that count them', () => {
    const kept = { kept: { unknownContacts: 3, near: [] } };
    const alerts = told(kept, {}, { unknownNotices: 1, now: START + QUIET });
    expect(alerts.map((some) => some.map(({ data }) => data))).toEqual([
      [{ notices: 0, contacts: 3 }],
      [],
      [{ notices: 1, contacts: 3 }],
    ]);
  });
});

it('nothing is told where nothing is wrong', () => {
  const kept = { kept: { unknownContacts: 0, near: [] } };
  expect(names({}, kept, { waiting: 1_000 }, kept).flat()).toEqual([]);
});

describe('single notices that fail', () => {
  const ends = (rejected: number, unknown: number, expired: number, accepted: number) => ({
    ends: { accepted, rejected, unknown, expired },
  });

  it.each([
    ['their number', ends(50, 25, 25, 1_000_000), true],
    ['one fewer', ends(50, 25, 24, 1_000_000), false],
    ['their share', ends(5, 0, 0, 20), true],
    ['a smaller share', ends(5, 0, 0, 21), false],
    ['a share of too few', ends(2, 1, 1, 0), false],
  ])('are reported by %s', (_, look, isReported) => {
    expect(names(look)[0]).toEqual(isReported ? ['notices.failing'] : []);
  });

  it('are reported once, with their numbers, and when they are few again', () => {
    const many = ends(90, 8, 2, 400);
    const alerts = told({}, many, many, ends(1, 0, 0, 400), {});
    expect(alerts.map((some) => some.map(({ event }) => event))).toEqual([
      [],
      ['notices.failing'],
      [],
      ['notices.recovered'],
      [],
    ]);
    expect(alerts[1]?.[0]).toMatchObject({
      title:
        'many single notices were rejected, unknown or expired in ten minutes: 90 rejected, 8 unknown, 2 expired, 400 accepted',
      data: { accepted: 400, rejected: 90, unknown: 8, expired: 2 },
    });
  });

  it('are not reported where both limits are 0', () => {
    const off = { quietMs: QUIET, failedNotices: 0, failedPercent: 0 };
    expect(judgeAlerts(undefined, { ...SIGHT, ...ends(1_000, 0, 0, 0) }, off).alerts).toEqual([]);
  });
});

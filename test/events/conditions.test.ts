import { describe, expect, it } from 'vitest';
import { judge, type ReportedConditions, type WatchedState } from '../../src/events/conditions.ts';

const MINUTE = 60_000;
const CALM: WatchedState = {
  now: 1_000_000,
  hold: undefined,
  templateHolds: [],
  workers: [{}],
  noticeJobs: { waiting: 0 },
  chunkJobs: { waiting: 0 },
  noticeWaitingSince: undefined,
  unknownNotices: 0,
  unknownContacts: 0,
  redis: { usedBytes: 10, maxBytes: 100, machineBytes: 0 },
};
const uses = (usedBytes: number) => ({ redis: { ...CALM.redis, usedBytes } });
const HOLD = {
  kind: 'credit',
  code: 'HTTP_402',
  since: 999,
  nextProbeAt: 0,
  failedProbes: 0,
} as const;

/** Looks one after the other; each adds to the state before. @returns what each reports */
function looks(...states: readonly Partial<WatchedState>[]): unknown[][] {
  let conditions: ReportedConditions = {};
  return states.map((state) => {
    const judged = judge(conditions, { ...CALM, ...state });
    conditions = judged.conditions;
    return judged.findings.map(({ event }) => event);
  });
}

describe('the watch', () => {
  it('reports begin and end of a hold once, also where it was on at the first look', () => {
    const held = { hold: HOLD };
    expect(looks(held, held, {}, {}, held)).toEqual([
      ['hold.begun'],
      [],
      ['hold.ended'],
      [],
      ['hold.begun'],
    ]);
  });

  it('reports the end of a hold before the begin of the one in its place', () => {
    const next = { ...HOLD, kind: 'manual', code: 'a reason that may contain anything' } as const;
    expect(looks({ hold: HOLD }, { hold: next })[1]).toEqual(['hold.ended', 'hold.begun']);
    expect(judge({}, { ...CALM, hold: next }).findings).toEqual([
      { event: 'hold.begun', kind: 'manual', template: '', code: '', since: 999 },
    ]);
  });

  it('reports begin and end of the hold of each template, beside that of the queue', () => {
    const template = { ...HOLD, kind: 'template', code: 'NOT_APPROVED', template: 'a:b' } as const;
    const manual = { ...template, kind: 'manual', code: 'why' } as const;
    // One of each group of senders.
    const held = { templateHolds: [template, template] };
    const all = [held, { ...held, hold: HOLD }, { templateHolds: [manual] }, {}];
    expect(looks(...all)).toEqual([
      ['hold.begun'],
      ['hold.begun'],
      ['hold.ended', 'hold.ended', 'hold.begun'],
      ['hold.ended'],
    ]);
    const { findings, conditions } = judge({}, { ...CALM, ...held });
    const of = { kind: 'template', template: 'a:b', since: 999 };
    expect(findings).toEqual([{ event: 'hold.begun', ...of, code: 'NOT_APPROVED' }]);
    expect(judge(conditions, CALM).findings).toEqual([{ event: 'hold.ended', ...of }]);
  });

  it('reports missing workers after half a minute, and where something waits', () => {
    const alone = (afterMs: number, waiting = 3) => ({
      now: CALM.now + afterMs,
      workers: [],
      noticeJobs: { waiting },
    });
    expect(looks(alone(0), alone(29_999), alone(30_000), alone(40_000, 0), {})).toEqual([
      [],
      [],
      ['workers.none'],
      [],
      ['workers.back'],
    ]);
    expect(looks(alone(0, 0), alone(MINUTE, 0))).toEqual([[], []]);
  });

  it('reports at once that the last worker leaves jobs behind', () => {
    expect(looks({ workers: [], chunkJobs: { waiting: 1 }, leaving: true })).toEqual([
      ['workers.none'],
    ]);
    expect(looks({ chunkJobs: { waiting: 1 }, leaving: true })).toEqual([[]]);
  });

  it('reports a long wait, which does not count while the queue is held', () => {
    const { now } = CALM;
    const waits = (afterMs: number) => ({ now: now + afterMs, noticeWaitingSince: now });
    const late = 11 * MINUTE;
    expect(looks(waits(0), waits(late), {})).toEqual([[], ['waiting.long'], ['waiting.short']]);
    const held = { ...waits(late), hold: HOLD };
    expect(looks(held, waits(late + 1))).toEqual([['hold.begun'], ['hold.ended']]);
  });

  it.each([
    ['unknown', { unknownNotices: 60, unknownContacts: 41 }, ['unknown.many'], ['unknown.few']],
    ['memory', uses(85), ['memory.near'], ['memory.eased']],
  ])('reports begin and end of %s once', (_name, on, begun, ended) => {
    expect(looks(on, on, {}, {})).toEqual([begun, [], ended, []]);
  });

  it.each([
    ['a hundred unknown outcomes', { unknownNotices: 100 }],
    ['84 % of memory', uses(84)],
    ['memory without a limit', { redis: { usedBytes: 1_000, maxBytes: 0, machineBytes: 0 } }],
  ])('reports nothing of %s', (_name, state) => {
    expect(looks(state)).toEqual([[]]);
  });

  it('reports memory as eased below 80 % only', () => {
    expect(looks(uses(85), uses(80), uses(79))).toEqual([['memory.near'], [], ['memory.eased']]);
  });
});

import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { endOf } from '../../../workers/send/disposition.ts';
import {
  endIntent,
  intentRecorder,
  knownAfter,
  noticeIntent,
  type IntentContext,
  uncountSentAgain,
} from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const UNCOUNTED: Outcome = { kind: 'retry', code: 'HTTP_401', counted: false };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402', scope: 'all' };
const EXPIRED: Outcome = { kind: 'expired' };

describe('endOf', () => {
  it.each<[Outcome | undefined, boolean, boolean, string | undefined]>([
    [REJECTED, false, false, 'rejected'],
    [EXPIRED, false, false, 'expired'],
    [UNKNOWN, false, false, undefined],
    [UNKNOWN, false, true, 'unknown'],
    [UNKNOWN, true, false, 'unknown'],
    [{ ...UNKNOWN, final: true }, false, false, 'unknown'],
    [RETRY, false, false, undefined],
    [RETRY, true, true, 'rejected'],
    [{ ...RETRY, counted: false }, false, true, undefined],
    [HOLD, false, true, undefined],
    [ACCEPTED, false, true, undefined],
    [undefined, true, true, undefined],
  ])('%j, at-most-once %s, last attempt %s: %s', (outcome, isOnce, last, state) => {
    expect(endOf(outcome, isOnce, last)?.state).toBe(state);
  });
});

const earlier = (code: string): Outcome => ({
  kind: 'unknown',
  code,
  final: true,
  earlier: true,
});

const NONE = { possiblySent: 0 };

describe('knownAfter', () => {
  it.each<[Outcome | undefined, boolean, Outcome | undefined]>([
    [REJECTED, false, earlier('NO')],
    [REJECTED, true, earlier('NO')],
    [EXPIRED, false, earlier('OUTCOME_UNKNOWN')],
    [RETRY, true, earlier('ECONNREFUSED')],
    [RETRY, false, RETRY],
    [UNCOUNTED, true, UNCOUNTED],
    [ACCEPTED, true, ACCEPTED],
    [UNKNOWN, false, UNKNOWN],
    [HOLD, true, HOLD],
    [undefined, true, undefined],
  ])('after doubt, %j, last attempt %s', (outcome, lastAttempt, known) => {
    const run = { mostResends: 2, lastAttempt };
    expect(knownAfter(outcome, { possiblySent: 1, before: NONE, ...run })).toEqual(known);
    // The same after it was sent again.
    const before = { possiblySent: 1 };
    expect(knownAfter(outcome, { possiblySent: 0, before, ...run })).toEqual(known);
  });

  it.each([ACCEPTED, REJECTED, RETRY, UNKNOWN, HOLD, EXPIRED, undefined])(
    'without doubt, %j stays',
    (outcome) => {
      const run = { possiblySent: 0, before: NONE, mostResends: 2, lastAttempt: true };
      expect(knownAfter(outcome, run)).toBe(outcome);
    },
  );
});

describe('the resends of an unknown outcome', () => {
  it.each([
    [0, 2, false],
    [1, 2, false],
    [2, 2, true],
    [0, 0, true],
  ])('possibly sent %d times before, UNKNOWN_RESENDS %d: the last one %s', (before, most, last) => {
    // Those before it was sent again do not count.
    const run = { possiblySent: before, before: { possiblySent: 9 }, mostResends: most };
    expect(knownAfter(UNKNOWN, { ...run, lastAttempt: false })).toEqual(
      last ? { ...UNKNOWN, final: true } : UNKNOWN,
    );
  });
});

describe('notices that are sent again after an unknown outcome', () => {
  const notice = (contacts: number, possiblySent: number) => {
    const numbers = Array.from({ length: contacts }, (_, at) => ({ contact: `010000${at}` }));
    const data = {
      v: 1,
      notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: numbers },
    };
    const job = { id: 'n', attemptsMade: 1, opts: {} } as Job;
    return noticeIntent(job, data as JobData, 'lock', 2, { possiblySent, traceIds: [] });
  };
  const counting = (count: (contacts: number) => Promise<void>): IntentContext => ({
    intents: {
      begin: () => Promise.reject(new Error('at-least-once records none')),
      end: () => Promise.resolve(),
      isOpen: () => Promise.resolve(false),
    },
    log: new AttemptLog(pino({ level: 'silent' })),
    worker: 'worker',
    countTwice: count,
    uncountTwice: (contacts) => count(-contacts),
  });
  it('are counted by contacts, once in a run, and taken back where nothing was accepted', async () => {
    const counted: number[] = [];
    const context = counting((contacts) => {
      counted.push(contacts);
      return Promise.resolve();
    });
    expect(intentRecorder(notice(7, 0), context)).toBeUndefined();
    const again = notice(5, 1);
    const record = intentRecorder(again, context);
    expect(await record?.()).toBe(true);
    expect(await record?.()).toBe(true);
    expect(counted).toEqual([5]);
    await uncountSentAgain(again, ACCEPTED, context);
    await uncountSentAgain(again, UNKNOWN, context);
    expect(counted).toEqual([5]);
    await uncountSentAgain(again, REJECTED, context);
    await uncountSentAgain(again, REJECTED, context);
    expect(counted).toEqual([5, -5]);
  });

  it('are not sent while Redis does not count them', async () => {
    const context = counting(() => Promise.reject(new Error('Redis is away')));
    expect(await intentRecorder(notice(2, 1), context)?.()).toBe(false);
  });
});

it('the intent of an at-most-once notice forbids the request when Redis fails, and is taken back', async () => {
  const ended: string[] = [];
  const context: IntentContext = {
    intents: {
      begin: () => Promise.reject(new Error('Redis is away')),
      end: (_, as) => Promise.resolve(void ended.push(as)),
      isOpen: () => Promise.resolve(false),
    },
    log: new AttemptLog(pino({ level: 'silent' })),
    worker: 'worker',
    countTwice: () => Promise.resolve(),
    uncountTwice: () => Promise.resolve(),
  };
  const data: JobData = {
    v: 1,
    notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [{ contact: '010001' }] },
    delivery: 'at-most-once',
  };
  const intent = noticeIntent({ id: 'a', attemptsMade: 0, opts: {} } as Job, data, 'lock', 2);
  const record = intentRecorder(intent, context);
  // Also where it is asked for again: the same run does not record it a second time.
  expect([await record?.(), await record?.()]).toEqual([false, false]);
  await endIntent(intent, undefined, context);
  expect(ended).toEqual(['back']);
});

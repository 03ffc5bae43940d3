import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import type { EndedState } from '../../../src/notices/ended.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { endOf } from '../../../workers/send/notice-end.ts';
import {
  beginIntent,
  countSentAgain,
  endIntent,
  intentRecorder,
  noticeIntent,
  type IntentContext,
  uncountSentAgain,
} from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402', scope: 'all' };
const EXPIRED: Outcome = { kind: 'expired' };

describe('endOf', () => {
  it.each<[Outcome | undefined, boolean, boolean, EndedState | undefined]>([
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

describe('endIntent', () => {
  it.each([
    [undefined, HOLD, []],
    ['lost', undefined, []],
    ['accepted', ACCEPTED, []],
    ['send', ACCEPTED, ['a accepted']],
    ['send', RETRY, ['a back']],
    ['send', undefined, ['a back']],
    ['asked', undefined, ['a back']],
    ['asked', ACCEPTED, ['a accepted']],
  ] as const)('%s, %j: %j', async (verdict, outcome, expected) => {
    const ended: string[] = [];
    const intent = noticeIntent({ id: 'a', attemptsMade: 0, opts: {} } as Job, data, 'lock', 2);
    await endIntent({ ...intent, verdict }, outcome, recording(ended));
    expect(ended).toEqual(expected);
  });
});

/** Notes how intents are ended; none can be started. */
const recording = (ended: string[]): IntentContext => ({
  intents: {
    begin: () => Promise.reject(new Error('Redis is away')),
    end: ({ job }, how) => {
      ended.push(`${job} ${how}`);
      return Promise.resolve();
    },
    isOpen: () => Promise.resolve(false),
  },
  log: new AttemptLog(pino({ level: 'silent' })),
  worker: 'worker',
  countTwice: () => Promise.resolve(),
  uncountTwice: () => Promise.resolve(),
});

const data: JobData = {
  v: 1,
  notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [{ contact: '010001' }] },
  delivery: 'at-most-once',
};

it.each([
  [0, 1, true],
  [0, 3, false],
  [1, 3, false],
  [2, 3, true],
  [0, undefined, true],
])('after %i of %s attempts this one is the last: %s', (attemptsMade, attempts, isLast) => {
  const job = { id: 'a', attemptsMade, opts: { attempts } } as Job;
  expect(noticeIntent(job, data, 'lock', 2).lastAttempt).toBe(isLast);
});

describe('beginIntent', () => {
  it('forbids the request when begin fails, and the intent is taken back at the end', async () => {
    const ended: string[] = [];
    const parts = recording(ended);
    const intent = noticeIntent({ id: 'a', attemptsMade: 0, opts: {} } as Job, data, 'lock', 2);
    expect(await beginIntent(intent, parts)).toBe(false);
    // Also where it is asked for again: the same run does not record it a second time.
    expect(await beginIntent(intent, parts)).toBe(false);
    await endIntent(intent, undefined, parts);
    expect(ended).toEqual(['a back']);
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
    let fails = true;
    const counted: number[] = [];
    const context = counting((contacts) => {
      if (fails) return Promise.reject(new Error('Redis is away'));
      counted.push(contacts);
      return Promise.resolve();
    });
    const again = notice(2, 1);
    expect(await countSentAgain(again, context)).toBe(false);
    fails = false;
    expect(await countSentAgain(again, context)).toBe(true);
    expect(counted).toEqual([2]);
  });
});

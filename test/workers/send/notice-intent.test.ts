import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../src/fleet/intents/intents.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import {
  beginIntent,
  countSentAgain,
  endIntent,
  intentEnd,
  intentRecorder,
  noticeIntent,
  type IntentEnd,
  type IntentContext,
  uncountSentAgain,
} from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402', scope: 'all' };
const EXPIRED: Outcome = { kind: 'expired' };
type Verdict = IntentVerdict | 'asked' | undefined;

describe('intentEnd', () => {
  it.each<[Outcome | undefined, boolean, IntentEnd]>([
    [UNKNOWN, true, 'none'],
    [UNKNOWN, false, 'nothing'],
    [ACCEPTED, true, 'nothing'],
    [REJECTED, true, 'nothing'],
    [RETRY, true, 'nothing'],
    [undefined, true, 'nothing'],
  ])('at-least-once %j, last attempt %s: %s', (outcome, last, end) => {
    expect(intentEnd(undefined, undefined, outcome, last)).toBe(end);
  });

  it.each<[Verdict, Outcome | undefined, IntentEnd]>([
    [undefined, HOLD, 'nothing'],
    [undefined, undefined, 'nothing'],
    ['lost', undefined, 'nothing'],
    ['accepted', ACCEPTED, 'nothing'],
    ['unknown', UNKNOWN, 'any'],
    ['send', ACCEPTED, 'accepted'],
    ['send', UNKNOWN, 'own'],
    ['send', REJECTED, 'back'],
    ['send', RETRY, 'back'],
    ['send', HOLD, 'back'],
    ['send', EXPIRED, 'back'],
    ['send', undefined, 'back'],
    ['asked', undefined, 'back'],
    ['asked', UNKNOWN, 'own'],
    ['asked', ACCEPTED, 'accepted'],
  ])('at-most-once, %s, %j: %s', (verdict, outcome, end) => {
    expect(intentEnd('at-most-once', verdict, outcome, false)).toBe(end);
  });
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
    const parts: IntentContext = {
      intents: {
        begin: () => Promise.reject(new Error('Redis is away')),
        end: (attempts, how) => {
          ended.push(...attempts.map(({ job }) => `${job} ${how}`));
          return Promise.resolve();
        },
        park: () => Promise.reject(new Error('nothing is unknown here')),
      },
      log: new AttemptLog(pino({ level: 'silent' })),
      worker: 'worker',
      keepFailedMs: 60_000,
      countTwice: () => Promise.resolve(),
      uncountTwice: () => Promise.resolve(),
    };
    const intent = noticeIntent({ id: 'a', attemptsMade: 0, opts: {} } as Job, data, 'lock', 2);
    expect(await beginIntent(intent, parts)).toBe(false);
    // Also where it is asked for again: the same run does not record it a second time.
    expect(await beginIntent(intent, parts)).toBe(false);
    await endIntent(intent, { outcome: undefined }, parts);
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
      park: () => Promise.resolve([]),
    },
    log: new AttemptLog(pino({ level: 'silent' })),
    worker: 'worker',
    keepFailedMs: 60_000,
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

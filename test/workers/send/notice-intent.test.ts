import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { DeliveryPolicy, Outcome } from '../../../src/contracts/outcome.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { endOf } from '../../../workers/send/disposition.ts';
import {
  endIntent,
  intentRecorder,
  knownAfter,
  noticeIntent,
  uncountSentAgain,
  type IntentContext,
} from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const UNCOUNTED: Outcome = { ...RETRY, counted: false };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402', scope: 'all' };
const EXPIRED: Outcome = { kind: 'expired' };
const FINAL: Outcome = { ...UNKNOWN, final: true };

it.each<[Outcome | undefined, isOnce: boolean, last: boolean, state: string | undefined]>([
  [REJECTED, false, false, 'rejected'],
  [EXPIRED, false, false, 'expired'],
  [UNKNOWN, false, false, undefined],
  [UNKNOWN, false, true, 'unknown'],
  [UNKNOWN, true, false, 'unknown'],
  [FINAL, false, false, 'unknown'],
  [RETRY, false, false, undefined],
  [RETRY, true, true, 'rejected'],
  [UNCOUNTED, false, true, undefined],
  [HOLD, false, true, undefined],
  [ACCEPTED, false, true, undefined],
  [undefined, true, true, undefined],
])('%j, at-most-once %s, last attempt %s: ends %s', (outcome, isOnce, last, state) => {
  expect(endOf(outcome, isOnce, last)?.state).toBe(state);
});

describe('what is known after an attempt', () => {
  const earlier = (code: string): Outcome => ({ ...FINAL, code, earlier: true });
  const known = (outcome: Outcome | undefined, own: number, before: number, lastAttempt: boolean) =>
    knownAfter(outcome, {
      possiblySent: own,
      before: { possiblySent: before },
      mostResends: 2,
      lastAttempt,
    });

  it.each<[Outcome | undefined, last: boolean, Outcome | undefined]>([
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
  ])('%j, last attempt %s, where it was possibly sent before', (outcome, last, then) => {
    // The same after a person sent it again; without that it stays.
    expect([known(outcome, 1, 0, last), known(outcome, 0, 1, last)]).toEqual([then, then]);
    expect(known(outcome, 0, 0, last)).toBe(outcome);
  });

  it('unknown is the end after UNKNOWN_RESENDS, of which those before it was sent again are none', () => {
    const after = [0, 1, 2].map((own) => known(UNKNOWN, own, 9, false));
    expect(after).toEqual([UNKNOWN, UNKNOWN, FINAL]);
  });
});

describe('what is recorded before a request', () => {
  /** @param fails Redis is away */
  function start(delivery: DeliveryPolicy | undefined, possiblySent = 0, fails = false) {
    const recorded: unknown[] = [];
    const record = (what: unknown) =>
      fails
        ? Promise.reject(new Error('Redis is away'))
        : Promise.resolve(void recorded.push(what));
    const context: IntentContext = {
      histories: {
        beginIntent: () => record('begin').then(() => 'send'),
        endIntent: (_, as) => Promise.resolve(void recorded.push(as)),
        hasOpenIntent: () => Promise.resolve(false),
      },
      log: new AttemptLog(pino({ level: 'silent' })),
      worker: 'worker',
      countTwice: (contacts) => record(contacts),
      uncountTwice: (contacts) => record(-contacts),
    };
    const contacts = Array.from({ length: 5 }, (_, at) => ({ contact: `010000${at}` }));
    const notice = { templateCode: 'T', scheduleType: 'DIRECTLY', contacts };
    const data = { v: 1, notice, ...(delivery === undefined ? {} : { delivery }) } as JobData;
    const job = { id: 'n', attemptsMade: 1, opts: {} } as Job;
    const intent = noticeIntent(job, data, 2, { possiblySent, traceIds: [] });
    return { intent, context, recorded, record: intentRecorder(intent, context) };
  }

  it('nothing of what is sent for the first time', () => {
    expect(start(undefined).record).toBeUndefined();
  });

  it('the contacts of what is sent again, once in a run; taken back where nothing was accepted', async () => {
    const { intent, context, recorded, record } = start(undefined, 1);
    expect([await record?.(), await record?.()]).toEqual([true, true]);
    for (const outcome of [ACCEPTED, UNKNOWN]) await uncountSentAgain(intent, outcome, context);
    expect(recorded).toEqual([5]);
    for (const outcome of [REJECTED, REJECTED]) await uncountSentAgain(intent, outcome, context);
    expect(recorded).toEqual([5, -5]);
  });

  it('where it fails, nothing is sent, and an intent is taken back', async () => {
    expect(await start(undefined, 1, true).record?.()).toBe(false);
    const { intent, context, recorded, record } = start('at-most-once', 0, true);
    // The same run does not record it a second time.
    expect([await record?.(), await record?.()]).toEqual([false, false]);
    await endIntent(intent, undefined, context);
    expect(recorded).toEqual(['back']);
  });
});

import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../src/fleet/intents/intents.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import {
  beginIntents,
  endIntents,
  intentEnd,
  noticeIntent,
  type IntentEnd,
  type IntentContext,
} from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402' };
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

describe('beginIntents', () => {
  const data: JobData = {
    v: 1,
    notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [{ contact: '010001' }] },
    delivery: 'at-most-once',
  };

  it('forbids the request when begin fails, and the intents are taken back at the end', async () => {
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
    };
    const all = ['a', 'b'].map((id) =>
      noticeIntent({ id, attemptsMade: 0, opts: {} } as Job, data, 'lock', 2),
    );
    expect(await beginIntents(all, parts)).toBe(false);
    // Also where it is asked for again: the same run does not record them a second time.
    expect(await beginIntents(all, parts)).toBe(false);
    await endIntents(
      all.map((intent) => ({ intent, outcome: undefined, answer: undefined })),
      parts,
    );
    expect(ended).toEqual(['a back', 'b back']);
  });
});

import { NO_HISTORY } from '../../../src/fleet/job-history.ts';
import { DelayedError, type Job } from 'bullmq';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { NO_SEALING } from '../../../src/payload/seal.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { runNotice, type NoticeContext } from '../../../workers/send/notice-job.ts';
import { OPEN_GATE } from './support/open-gate.ts';

const NOW = 1_800_000_000_000;
const ACCEPTED: SendAnswer = {
  stage: 'answered',
  status: 200,
  body: 'json',
  refused: [],
  requests: 1,
  durationMs: 1,
};
const DATA = {
  v: 1,
  notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [{ contact: '01000000001' }] },
};

/** Runs a job that was handed over at NOW. @returns whether it was sent, and for how long it was delayed */
async function run(delay: number | undefined, now: number) {
  let sent = false;
  let delayedMs: number | undefined;
  const none = () => Promise.resolve();
  const context: NoticeContext = {
    histories: { read: () => Promise.resolve(NO_HISTORY), noteUnknown: none, forget: none },
    service: {
      send: () => {
        sent = true;
        return Promise.resolve(ACCEPTED);
      },
    },
    tokens: {
      get: () => Promise.reject(new Error('none is asked for')),
      renew: () => Promise.reject(new Error('none is asked for')),
      renewalHelped: none,
    },
    gate: OPEN_GATE,
    rateLimit: { take: () => ({ use: () => true, release: () => {} }) },
    sendDeadlineMs: 1_000,
    stopping: new AbortController().signal,
    intents: { begin: () => Promise.resolve([]), end: none, park: () => Promise.resolve([]) },
    worker: 'worker',
    keepFailedMs: 60_000,
    countTwice: none,
    uncountTwice: none,
    inOneWrite: () => {},
    locks: { of: () => ({ valid: () => true, release: () => {} }) },
    listUnknown: () => Promise.resolve(false),
    log: new AttemptLog(pino({ level: 'silent' })),
    returns: { returnJob: () => Promise.reject(new Error('returned')) },
    sealing: NO_SEALING,
    unknownResends: 2,
    now: () => now,
    takeBack: none,
  };
  const job = {
    id: 'job',
    data: DATA,
    opts: delay === undefined ? {} : { delay },
    timestamp: NOW,
    delay: delay ?? 0,
    attemptsMade: 0,
    moveToDelayed: (until: number) => {
      delayedMs = until - Date.now();
      return Promise.resolve();
    },
  } as unknown as Job;
  const ended = await runNotice({ job, lockToken: 'lock' }, context).catch(
    (error: unknown) => error,
  );
  return {
    sent,
    delayed: ended instanceof DelayedError,
    seconds: Math.round((delayedMs ?? 0) / 1_000),
  };
}

it.each([
  ['that is due', 60_000, NOW + 60_000, true, 0],
  ['that is due within a tenth of a second', 60_000, NOW + 59_900, true, 0],
  ['that is due within a second', 60_000, NOW + 59_000, false, 1],
  ['that the fast clock of a worker has fetched early', 60_000, NOW + 20_000, false, 40],
  ['without a delay', undefined, NOW - 60_000, true, 0],
])('a notice %s', async (_, delay, now, isSent, seconds) => {
  expect(await run(delay, now)).toEqual({ sent: isSent, delayed: !isSent, seconds });
});

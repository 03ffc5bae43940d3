import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { OPEN, type Passage } from '../../../src/fleet/hold/passage.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import type { RefusalVerdict } from '../../../workers/send/worker-refusal.ts';
import { SendGate } from '../../../workers/send/send-gate.ts';
import { NOT_REFUSED } from '../../support/not-refused.ts';

const ANSWER: SendAnswer = {
  stage: 'answered',
  status: 200,
  body: 'json',
  requests: 1,
  durationMs: 5,
  refused: [],
  tokenId: 'T7',
};
const HOLD: Outcome = { kind: 'hold', hold: 'credentials', code: 'NO', ownAfter: 1 };

/** What the holds are told after an attempt. */
async function evidenceOf(
  outcome: Outcome,
  answer: SendAnswer | undefined,
  isProbe: boolean,
  verdict: RefusalVerdict = 'all',
) {
  const seen: unknown[] = [];
  const note = (...what: unknown[]) => {
    seen.push(what);
    return Promise.resolve();
  };
  const gate = new SendGate({
    isSuspended: () => false,
    isComplete: () => Promise.resolve(true),
    holds: {
      enter: () => Promise.resolve(OPEN),
      meet: async ({ token, code, class: as, ownAfter }) => {
        await note('met', code, token, ...(ownAfter === 0 ? [as] : []));
        if (ownAfter === 0)
          return { kind: 'counted', disproved: code === 'DISPROVED', first: false };
        return code === 'HELD' ? { kind: 'held', behindMs: 0 } : { kind: 'own' };
      },
      accepted: (token, begunAt) => note('accepted', token, begunAt),
    },
    rateLimiter: { throttled: () => note('rate limit decreased') },
    refusal: { ...NOT_REFUSED, judge: () => Promise.resolve(verdict) },
    log: new AttemptLog(pino({ level: 'silent' })),
  });
  const passage: Passage = {
    probe: isProbe ? 'nonce' : undefined,
    answered: (as, token) => note(as, token),
    undecided: () => note('undecided'),
    abandoned: () => note('abandoned'),
  };
  const left = await gate.leave({ outcome, answer, requestedAt: 12 }, passage, 'job');
  return { seen, left };
}

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'NO_ANSWER' };

it.each<[string, Outcome, SendAnswer | undefined, boolean, unknown[]]>([
  ['an acceptance', ACCEPTED, ANSWER, false, ['accepted', 'T7', 12]],
  ['an accepted probe', ACCEPTED, ANSWER, true, ['accepted', 'T7']],
  ['a rejected probe', { kind: 'rejected', code: 'NO' }, ANSWER, true, ['rejected', 'T7']],
  ['a refusal', HOLD, ANSWER, false, ['met', 'NO', 'T7']],
  ['an unknown outcome', UNKNOWN, ANSWER, false, ['met', 'NO_ANSWER', 'T7']],
  ['an unknown outcome of no token', UNKNOWN, undefined, false, ['met', 'NO_ANSWER', '']],
])('%s is evidence with the token of its request', async (_, outcome, answer, isProbe, seen) => {
  expect((await evidenceOf(outcome, answer, isProbe)).seen).toEqual([seen]);
});

const CALLER: Outcome = { kind: 'hold', hold: 'credentials', code: 'NO', caller: 'refused' };

it.each<[RefusalVerdict, string, unknown[], Outcome | undefined]>([
  ['alone', 'NO', ['abandoned'], undefined],
  ['first', 'NO', ['met', 'NO', 'T7', 'refusal'], { kind: 'retry', code: 'NO', counted: false }],
  [
    'first',
    'DISPROVED',
    ['met', 'DISPROVED', 'T7', 'refusal'],
    { kind: 'retry', code: 'DISPROVED', counted: true, backoff: 'near' },
  ],
  ['all', 'NO', ['met', 'NO', 'T7'], { kind: 'rejected', code: 'NO', own: true }],
])('a refused worker, %s, with %s', async (verdict, code, seen, left) => {
  for (const isProbe of [false, true]) {
    const of = await evidenceOf({ ...CALLER, code }, ANSWER, isProbe, verdict);
    expect(of).toEqual({ seen: [seen], left });
  }
});

it.each<[string, Outcome & { kind: 'hold' }, unknown[]]>([
  [
    'a 429 that holds the queue',
    { ...HOLD, hold: 'throttled', code: 'HELD' },
    ['rate limit decreased'],
  ],
  ['a 429 that does not', { ...HOLD, hold: 'throttled' }, []],
  ['another hold', { ...HOLD, code: 'HELD' }, []],
])('%s: whether it decreases the rate limit', async (_, outcome, decreased) => {
  const { seen } = await evidenceOf(outcome, ANSWER, false);
  expect(seen).toEqual([['met', outcome.code, 'T7'], ...decreased.map((what) => [what])]);
});

it('no other hold is judged as a refusal of the worker', async () => {
  expect((await evidenceOf(HOLD, ANSWER, false, 'alone')).seen).toEqual([['met', 'NO', 'T7']]);
});

import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { OPEN, type Passage } from '../../../src/fleet/hold/passage.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
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
async function evidenceOf(outcome: Outcome, answer: SendAnswer | undefined, isProbe: boolean) {
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
      meet: async ({ token, code }) => {
        await note('met', code, token);
        return { kind: 'own' };
      },
      accepted: (token, begunAt) => note('accepted', token, begunAt),
    },
    rateLimiter: { throttled: () => Promise.resolve() },
    refusal: NOT_REFUSED,
    log: new AttemptLog(pino({ level: 'silent' })),
  });
  const passage: Passage = {
    probe: isProbe ? 'nonce' : undefined,
    answered: (as, token) => note(as, token),
    undecided: () => note('undecided'),
    abandoned: () => note('abandoned'),
  };
  await gate.leave({ outcome, answer, requestedAt: 12 }, passage, 'job');
  return seen;
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
  expect(await evidenceOf(outcome, answer, isProbe)).toEqual([seen]);
});

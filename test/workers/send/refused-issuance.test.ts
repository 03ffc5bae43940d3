import { pino } from 'pino';
import { expect, it } from 'vitest';
import { TokenRefusedError } from '../../../src/contracts/errors.ts';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { runAttempt } from '../../../workers/send/attempt.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { ENTERED, GATE_JOB, OPEN_GATE } from './support/open-gate.ts';

const PERMIT = { use: () => true, release: () => {} };

/** The outcome of an attempt for which no token could be had. */
async function outcomeOf(refused: TokenRefusedError): Promise<Outcome | undefined> {
  const refuse = () => Promise.reject(refused);
  const tokens = {
    get: refuse,
    renew: refuse,
    renewalHelped: () => Promise.resolve(),
  };
  const { outcome } = await runAttempt(
    {
      job: GATE_JOB,
      send: (source) => source.get() as Promise<never>,
      isOnce: false,
      mayBegin: () => true,
    },
    { entered: ENTERED, permit: PERMIT },
    {
      tokens,
      gate: OPEN_GATE,
      rateLimit: { take: () => PERMIT },
      sendDeadlineMs: 1_000,
      stopping: new AbortController().signal,
      log: new AttemptLog(pino({ level: 'silent' })),
    },
  );
  return outcome;
}

const CODE = 'INVALID_ACCESS_KEY';
const held = (hold: TokenRefusedError['hold']) =>
  ({ kind: 'hold', hold, code: CODE, scope: 'all' }) as const;

it.each<[TokenRefusedError['hold'], Outcome]>([
  ['credentials', held('credentials')],
  ['token-unavailable', { ...held('token-unavailable'), forMs: 2_000 }],
  ['token-contested', { ...held('token-contested'), forMs: 2_000 }],
])('%s', async (hold, outcome) => {
  expect(await outcomeOf(new TokenRefusedError(hold, CODE, 2_000))).toEqual(outcome);
});

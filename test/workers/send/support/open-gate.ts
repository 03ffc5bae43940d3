import { pino } from 'pino';
import { OPEN } from '../../../../src/fleet/hold/hold-gate.ts';
import { NO_SEALING } from '../../../../src/payload/seal.ts';
import type { RedisClient } from '../../../../src/redis/connect.ts';
import { AttemptLog } from '../../../../workers/send/attempt-log.ts';
import type { AttemptContext } from '../../../../workers/send/attempt.ts';
import { JobReturns } from '../../../../workers/send/disposition.ts';
import type { GateJob } from '../../../../workers/send/template-refusals.ts';

/** A gate that nothing closes, and that changes no outcome: for tests of what is between its two sides. */
export const OPEN_GATE: AttemptContext['gate'] = {
  enter: () => Promise.resolve(OPEN),
  leave: (_job, _entered, { outcome }) => Promise.resolve(outcome),
  isInHours: () => true,
  restOf: () => undefined,
};

/** A job at such a gate. */
export const GATE_JOB: GateJob = {
  id: 'job',
  template: 'T',
  takeBack: () => Promise.resolve(),
};

/** What a run of a job works with where nothing is in its way. */
export function openContext(redis: RedisClient) {
  const stopping = new AbortController().signal;
  return {
    gate: OPEN_GATE,
    tokens: {
      get: () => Promise.resolve({ id: 'token', value: 'token' }),
      renew: () => Promise.resolve(undefined),
      renewalHelped: () => Promise.resolve(),
    },
    rateLimit: { take: () => Promise.resolve({ use: () => true, release: () => {} }) },
    log: new AttemptLog(pino({ level: 'silent' })),
    sendDeadlineMs: 1_000,
    stopping,
    returns: new JobReturns(redis, 'none', NO_SEALING, stopping, {
      suspend: () => {},
      report: () => {},
    }),
    sealing: NO_SEALING,
    doNotSend: { isEmpty: true, suppressed: () => Promise.resolve(new Set<number>()) },
  };
}

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../../src/contracts/token.ts';
import type { Permit } from '../../../src/fleet/rate-limit/rate-limiter.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import { Deadline } from '../../../src/async/cancellation.ts';
import type { Exchange, WireFacts } from '../../../src/service/http/transport.ts';
import { TokenHeadersCache } from '../../../src/service/request-body.ts';
import { SendCall, type SendAnswer } from '../../../src/service/send-call.ts';
import {
  enter,
  runAttempt,
  type AttemptContext,
  type AttemptOptions,
} from '../../../workers/send/attempt.ts';
import { ENTERED, GATE_JOB, OPEN_GATE } from './support/open-gate.ts';

const TOKEN: Token = { id: 't', value: 'token' };
const GOOD: Permit = { use: () => true, release: () => {} };
const ACCEPTED: SendAnswer = {
  stage: 'answered',
  status: 200,
  body: 'json',
  refused: [],
  requests: 1,
  durationMs: 1,
};

const ENDPOINT = {
  path: '/send',
  notSentRetries: 0,
  tokenHeaders: new TokenHeadersCache('v2', [], []),
  rules: undefined,
  acceptedTraceIds: false,
  knownCodes: new Set<string>(),
};
const FACTS: WireFacts = {
  started: true,
  headers: undefined,
  chunks: [],
  ending: 'whole',
  failure: undefined,
  failureCode: undefined,
  tookMs: 1,
  status: undefined,
};

/** What an attempt does in which order, on parts that only note it. */
describe('an attempt and its slots', () => {
  /** @param slots what the rate limit hands out, one after the other; then nothing */
  function bench(slots: readonly ('good' | 'old' | 'none')[], owned: () => boolean = () => true) {
    const steps: string[] = [];
    const left = [...slots];
    const note = <Value>(step: string, value: Value): Promise<Value> => {
      steps.push(step);
      return Promise.resolve(value);
    };
    const slot = (kind: 'good' | 'old', name: string): Permit => {
      let unused = kind === 'good';
      return {
        use: () => {
          const used = unused;
          unused = false;
          steps.push(used ? `use ${name}` : `${name} is no good`);
          return used;
        },
        release: () => {
          if (unused) steps.push(`release ${name}`);
          unused = false;
        },
      };
    };
    let taken = 0;
    const parts: AttemptContext = {
      tokens: {
        get: () => note('token', TOKEN),
        renew: () => note('renew', TOKEN),
        renewalHelped: () => Promise.resolve(),
      },
      gate: OPEN_GATE,
      rateLimit: {
        take: () => {
          const kind = left.shift() ?? 'none';
          taken += 1;
          return note(`take ${taken}`, kind === 'none' ? undefined : slot(kind, String(taken)));
        },
      },
      sendDeadlineMs: 1_000,
      stopping: new AbortController().signal,
      log: new AttemptLog(pino({ level: 'silent' })),
    };
    /** @param renews whether the service refuses the first token */
    const attempt = async (renews = false) => {
      const entry = await enter(GATE_JOB, parts);
      if (entry === undefined || 'putOffMs' in entry) return undefined;
      return runAttempt(
        {
          job: GATE_JOB,
          send: async (tokens, { deadlineMs, guard }) => {
            const deadline = new Deadline(deadlineMs);
            const statuses = renews ? [401, 200] : [200];
            const post = async (exchange: Exchange) => {
              const mayStart = exchange.mayStart();
              await note(mayStart ? 'request' : 'stopped', undefined);
              if (mayStart) exchange.record({ ...FACTS, status: statuses.shift() });
            };
            try {
              await new SendCall({ ...ENDPOINT, post }, '', deadline, false, guard).run(tokens);
            } finally {
              deadline.close();
            }
            return ACCEPTED;
          },
          isOnce: false,
          mayBegin: owned,
          recordIntent: () => note('begin', true),
        },
        entry,
        parts,
      );
    };
    return { steps, attempt };
  }

  it('takes one before the token, and begins last', async () => {
    const { steps, attempt } = bench(['good']);
    expect((await attempt())?.outcome?.kind).toBe('accepted');
    expect(steps).toEqual(['take 1', 'token', 'use 1', 'begin', 'request']);
  });

  it('the second request waits for another, since its token was issued for it', async () => {
    const { steps, attempt } = bench(['good', 'none', 'none', 'good']);
    expect((await attempt(true))?.outcome?.kind).toBe('accepted');
    expect(steps.slice(5)).toEqual([
      'renew',
      '1 is no good',
      'take 2',
      'take 3',
      'take 4',
      'use 4',
      'begin',
      'request',
    ]);
  });

  it('the second request is not made where there is none until the time of the call is over', async () => {
    const { steps, attempt } = bench(['good', 'none']);
    await attempt(true);
    expect(steps.filter((step) => step === 'request')).toHaveLength(1);
  });

  it('one that became too old meanwhile is replaced before anything begins', async () => {
    const { steps, attempt } = bench(['old', 'good']);
    expect((await attempt())?.outcome?.kind).toBe('accepted');
    expect(steps).toEqual([
      'take 1',
      'token',
      '1 is no good',
      'take 2',
      'use 2',
      'begin',
      'request',
    ]);
  });

  it('a lock that was lost meanwhile: nothing is sent, and the slot is given back', async () => {
    const { steps, attempt } = bench(['good'], () => false);
    expect(await attempt()).toEqual({ outcome: undefined });
    expect(steps).toEqual(['take 1', 'token', 'release 1']);
  });

  it('a lock that was lost, or a deadline that passed, while it waited for a connection', async () => {
    let asked = 0;
    const { steps, attempt } = bench(['good'], () => (asked += 1) <= 2);
    expect(await attempt()).toEqual({ outcome: undefined });
    expect(steps).toEqual(['take 1', 'token', 'use 1', 'begin', 'stopped']);
  });
});

describe('an attempt that fails unexpectedly', () => {
  const context: AttemptContext = {
    tokens: {
      get: () => Promise.resolve(TOKEN),
      renew: () => Promise.resolve(TOKEN),
      renewalHelped: () => Promise.resolve(),
    },
    gate: OPEN_GATE,
    rateLimit: { take: () => ({ use: () => true, release: () => {} }) },
    sendDeadlineMs: 5_000,
    stopping: new AbortController().signal,
    log: new AttemptLog(pino({ level: 'silent' })),
  };
  const failing = (send: AttemptOptions['send'], stopping = new AbortController().signal) =>
    runAttempt(
      { job: GATE_JOB, send, isOnce: false, mayBegin: () => true },
      { entered: ENTERED, permit: GOOD },
      { ...context, stopping },
    );

  it('before its request is counted, whatever the error', async () => {
    const attempted = await failing(() => Promise.reject(new Error('of a library')));
    expect(attempted).toMatchObject({
      outcome: { kind: 'retry', code: 'INTERNAL_ERROR', counted: true },
    });
  });

  it('after it may have been sent is unknown', async () => {
    const attempted = await failing(async (_tokens, { guard }) => {
      await guard?.check(new AbortController().signal);
      throw new Error('of a library');
    });
    expect(attempted).toMatchObject({ outcome: { kind: 'unknown', code: 'INTERNAL_ERROR' } });
  });

  it.each([
    ['after it may have been sent is unknown', true, { kind: 'unknown', code: 'INTERNAL_ERROR' }],
    ['before its request is not counted', false, undefined],
  ])('while the worker stops, %s', async (_, isSent, expected) => {
    const stopping = new AbortController();
    const attempted = await failing(async (_tokens, { guard }) => {
      if (isSent) await guard?.check(new AbortController().signal);
      stopping.abort();
      throw new Error('of a library');
    }, stopping.signal);
    expect(attempted.outcome).toEqual(expected);
  });
});

it('an answer that accepts shows that the renewal ended a refusal', async () => {
  const reports: string[] = [];
  const context: AttemptContext = {
    tokens: {
      get: () => Promise.resolve(TOKEN),
      renew: () => Promise.resolve(TOKEN),
      renewalHelped: ({ status }) => {
        reports.push(`helped after ${status}`);
        return Promise.resolve();
      },
    },
    gate: OPEN_GATE,
    rateLimit: { take: () => ({ use: () => true, release: () => {} }) },
    sendDeadlineMs: 5_000,
    stopping: new AbortController().signal,
    log: new AttemptLog(pino({ level: 'silent' })),
  };
  const send = () =>
    Promise.resolve({
      ...ACCEPTED,
      tokenId: 'second',
      refused: [{ tokenId: 'first', status: 401 as const }],
    });
  const options = { job: GATE_JOB, send, isOnce: false, mayBegin: () => true };
  const entry = { entered: ENTERED, permit: GOOD };
  expect((await runAttempt(options, entry, context)).outcome?.kind).toBe('accepted');
  expect(reports).toEqual(['helped after 401']);
});

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { Deadline } from '../../../src/async/cancellation.ts';
import type { Token } from '../../../src/contracts/token.ts';
import type { Permit } from '../../../src/fleet/rate-limit/rate-limiter.ts';
import type { Exchange, WireFacts } from '../../../src/service/http/transport.ts';
import { tokenHeadersOf } from '../../../src/service/request-body.ts';
import { SendCall, type SendAnswer } from '../../../src/service/send-call.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import {
  enter,
  runAttempt,
  type AttemptContext,
  type AttemptOptions,
} from '../../../workers/send/attempt.ts';
import { GATE_JOB, OPEN_GATE } from './support/open-gate.ts';

const TOKEN: Token = { id: 't', value: 'token' };
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
  tokenHeaders: tokenHeadersOf('v2', [], []),
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

/** What the rate limit hands out, one after the other; then nothing. */
type Slots = readonly ('good' | 'old' | 'none')[];

/** An attempt on parts that only note in which order they are used. */
function bench(slots: Slots = ['good'], more: Partial<AttemptContext> = {}) {
  const steps: string[] = [];
  const left = [...slots];
  const note = <Value>(step: string, value: Value): Promise<Value> => {
    steps.push(step);
    return Promise.resolve(value);
  };
  const permit = (kind: 'good' | 'old', name: number): Permit => {
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
  const context: AttemptContext = {
    tokens: {
      get: () => note('token', TOKEN),
      renew: () => note('renew', TOKEN),
      renewalHelped: ({ status }) => note(`helped after ${status}`, undefined),
    },
    gate: OPEN_GATE,
    rateLimit: {
      take: () => {
        const kind = left.shift() ?? 'none';
        taken += 1;
        return note(`take ${taken}`, kind === 'none' ? undefined : permit(kind, taken));
      },
    },
    sendDeadlineMs: 1_000,
    stopping: new AbortController().signal,
    log: new AttemptLog(pino({ level: 'silent' })),
    ...more,
  };
  const attempt = async (send: AttemptOptions['send'], mayBegin = () => true) => {
    const entry = await enter(GATE_JOB, context);
    if (entry === undefined || 'putOffMs' in entry) throw new Error('the gate is open');
    const recordIntent = () => note('begin', true);
    return runAttempt(
      { job: GATE_JOB, send, isOnce: false, mayBegin, recordIntent },
      entry,
      context,
    );
  };
  /** @param refusals how often the service refuses the token first */
  const sending =
    (refusals = 0): AttemptOptions['send'] =>
    async (tokens, { deadlineMs, guard }) => {
      const deadline = new Deadline(deadlineMs);
      const statuses = [...Array<number>(refusals).fill(401), 200];
      const post = async (exchange: Exchange) => {
        const mayStart = exchange.mayStart();
        await note(mayStart ? 'request' : 'stopped', undefined);
        if (mayStart) exchange.record({ ...FACTS, status: statuses.shift() });
      };
      const call = new SendCall({ ...ENDPOINT, post }, '', deadline, false, guard);
      await call.run(tokens).finally(() => deadline.close());
      return ACCEPTED;
    };
  return { steps, attempt, sending };
}

describe('an attempt and its slots', () => {
  it.each<[string, Slots, refusals: number, steps: string]>([
    [
      'takes one before the token, and begins last',
      ['good'],
      0,
      'take 1,token,use 1,begin,request',
    ],
    [
      'waits for another one for its second request, since its token was issued for it',
      ['good', 'none', 'none', 'good'],
      1,
      'take 1,token,use 1,begin,request,renew,1 is no good,take 2,take 3,take 4,use 4,begin,request',
    ],
    [
      'replaces one that became too old meanwhile before anything begins',
      ['old', 'good'],
      0,
      'take 1,token,1 is no good,take 2,use 2,begin,request',
    ],
  ])('%s', async (_, slots, refusals, expected) => {
    const { steps, attempt, sending } = bench(slots);
    expect((await attempt(sending(refusals))).outcome?.kind).toBe('accepted');
    expect(steps.join()).toBe(expected);
  });

  it('the second request is not made where there is none until the time of the call is over', async () => {
    const { steps, attempt, sending } = bench();
    await attempt(sending(1));
    expect(steps.filter((step) => step === 'request')).toHaveLength(1);
  });
});

const UNKNOWN = { kind: 'unknown', code: 'INTERNAL_ERROR' };
it.each([
  ['before its request is counted', false, false, { ...UNKNOWN, kind: 'retry', counted: true }],
  ['after it may have been sent is unknown', true, false, UNKNOWN],
  ['the same while the worker stops', true, true, UNKNOWN],
  ['before its request while the worker stops is not counted', false, true, undefined],
])('an error that ends an attempt %s', async (_, isSent, isStopping, expected) => {
  const stopping = new AbortController();
  const { attempt } = bench(['good'], { stopping: stopping.signal });
  const { outcome } = await attempt(async (_tokens, { guard }) => {
    if (isSent) await guard?.check(new AbortController().signal);
    if (isStopping) stopping.abort();
    throw new Error('of a library');
  });
  expect(outcome).toEqual(expected);
});

it('an answer that accepts shows that the renewal ended a refusal', async () => {
  const { steps, attempt } = bench();
  const refused = [{ tokenId: 'first', status: 401 as const }];
  const answer = { ...ACCEPTED, tokenId: 'second', refused };
  expect((await attempt(() => Promise.resolve(answer))).outcome?.kind).toBe('accepted');
  expect(steps).toContain('helped after 401');
});

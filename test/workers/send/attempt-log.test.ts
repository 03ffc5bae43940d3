import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SeenAttempt } from '../../../src/contracts/outcome.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';
import type { SendAnswer } from '../../../src/service/send-call.ts';

const REFUSED: SendAnswer = {
  stage: 'answered',
  status: 401,
  body: 'none',
  refused: [{ tokenId: 't', status: 401 }],
  requests: 1,
  durationMs: 5,
};

/** Logs a job that ended without an outcome. */
function returned(answer: SendAnswer | undefined) {
  const { log, lines, seen } = open();
  log.begin(job()).end(undefined, answer, { contacts: 1 });
  return { lines, seen };
}

const job = (attemptsMade = 0) =>
  ({ id: 'j', attemptsMade, opts: {}, timestamp: Date.now() }) as unknown as Job;

function open() {
  const lines: Record<string, unknown>[] = [];
  const seen: SeenAttempt[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = new AttemptLog(pino({ level: 'info' }, { write }), (attempt) => seen.push(attempt));
  return { log, lines, seen };
}

describe('a job that is returned', () => {
  it('unsent is no attempt', () => {
    expect(returned(undefined)).toEqual({ lines: [], seen: [] });
  });

  it('after a request that was refused is counted and logged as not counted retry', () => {
    const { lines, seen } = returned(REFUSED);
    expect(seen).toMatchObject([{ outcome: 'retry', code: 'HTTP_401', requests: 1, contacts: 1 }]);
    expect(lines).toMatchObject([
      { outcome: 'retry', code: 'HTTP_401', counted: false, status: 401, requests: 1 },
    ]);
  });
});

describe('what was accepted', () => {
  const ACCEPTED: SendAnswer = { ...REFUSED, status: 200, refused: [] };
  const accepted = { kind: 'accepted', confirmed: true } as const;

  it('at once has no line but is counted', () => {
    const { log, lines } = open();
    for (const contacts of [1, 30]) log.begin(job()).end(accepted, ACCEPTED, { contacts });
    expect(lines).toEqual([]);
    log.flush();
    log.flush();
    expect(lines).toMatchObject([{ level: 30, event: 'accepted', jobs: 2, contacts: 31 }]);
    expect(lines).toHaveLength(1);
  });

  it.each<[string, number, SendAnswer, object, object]>([
    ['with a renewed token', 0, { ...ACCEPTED, refused: REFUSED.refused }, {}, { level: 30 }],
    ['at a second attempt', 1, ACCEPTED, {}, { level: 30, attempt: 2 }],
    ['as a probe', 0, ACCEPTED, { probe: true }, { level: 30, probe: true }],
    [
      'after it was possibly sent',
      1,
      ACCEPTED,
      { possiblySent: 1 },
      { level: 40, possiblySent: 1 },
    ],
  ])('%s has a line', (_name, attemptsMade, answer, facts, line) => {
    const { log, lines } = open();
    log.begin(job(attemptsMade)).end(accepted, answer, { contacts: 1, ...facts });
    expect(lines).toMatchObject([{ event: 'attempt', outcome: 'accepted', ...line }]);
  });
});

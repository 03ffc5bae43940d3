import type { Job } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SeenAttempt } from '../../../src/contracts/seen-attempt.ts';
import type { SendAnswer } from '../../../src/service/response/send-answer.ts';
import { AttemptLog } from '../../../workers/send/attempt-log.ts';

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
  const lines: Record<string, unknown>[] = [];
  const seen: SeenAttempt[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = new AttemptLog(pino({ level: 'info' }, { write }), (attempt) => seen.push(attempt));
  const job = { id: 'j', attemptsMade: 0, opts: {}, timestamp: Date.now() } as unknown as Job;
  log.begin(job).end(undefined, answer, { contacts: 1 });
  return { lines, seen };
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

import type { Job } from 'bullmq';
import { readJobData, type JobData } from '../src/contracts/job.ts';
import type { Outcome } from '../src/contracts/outcome.ts';
import type { RefusalStatus, Token, TokenSource } from '../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../src/errors.ts';
import type { HoldGate, Passage } from '../src/queue/hold-gate.ts';
import { decideOutcome, needsJudgement } from '../src/service/decide-outcome.ts';
import type { SendAnswer } from '../src/service/send-answer.ts';
import type { ServiceClient } from '../src/service/service-client.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { LockFence } from './lock-fence.ts';
import { giveBack, steer, type JobResult } from './steering.ts';

/** What one run of a job needs; a worker process composes it once. */
export interface HandlerParts {
  readonly service: Pick<ServiceClient, 'send'>;
  readonly tokens: TokenSource & {
    accepted(token: Token): void;
    judge(refused: Token, status: RefusalStatus): Promise<'again' | 'refused'>;
  };
  readonly gate: Pick<HoldGate, 'enter' | 'place'>;
  readonly fence: Pick<LockFence, 'guard'>;
  readonly log: AttemptLog;
  readonly sendDeadlineMs: number;
  /** Aborted when the worker stops: what has not been sent goes back. */
  readonly stopping: AbortSignal;
}

/** Why an attempt ended before anything was sent, without blame. */
class NotStarted extends Error {}

/** Least wait after a 429, whatever its Retry-After says. */
const THROTTLED_MIN_MS = 1_000;

/**
 * Runs one job once: read, check the deadline, pass the gate, send, decide, settle.
 *
 * Nothing is sent by a process that is stopping, that may have lost the job's lock, or while the
 * queue is held. Each of these gives the job back without spending an attempt.
 */
export async function runJob(
  job: Job,
  lockToken: string | undefined,
  signal: AbortSignal | undefined,
  parts: HandlerParts,
): Promise<JobResult> {
  const attempt = parts.log.begin(job);
  let data: JobData;
  try {
    data = readJobData(job.data);
  } catch (error) {
    const text = error instanceof NoticeQueueError ? error.message : '';
    attempt.end({ kind: 'rejected', code: 'JOB_INVALID' });
    return steer(job, lockToken, { kind: 'rejected', code: 'JOB_INVALID' }, text);
  }
  if (data.expiresAt !== undefined && Date.now() >= data.expiresAt) {
    attempt.end({ kind: 'expired' });
    return steer(job, lockToken, { kind: 'expired' }, '');
  }

  const guard = parts.fence.guard(job);
  const abort = signal === undefined ? parts.stopping : AbortSignal.any([parts.stopping, signal]);
  try {
    if (abort.aborted) giveBack();
    const passage = await enter(parts, attempt);
    if (passage === undefined) giveBack();

    const { outcome, answer } = await attemptOnce(data, passage, guard.owned, abort, parts);
    attempt.end(outcome, answer, passage.probe !== undefined, data.notice.contacts.length);
    if (outcome === undefined) giveBack();
    return await steer(job, lockToken, outcome, detailOf(answer));
  } finally {
    guard.release();
  }
}

/** Redis that fails at the gate sends nothing: the job goes back. */
async function enter(
  parts: HandlerParts,
  attempt: ReturnType<AttemptLog['begin']>,
): Promise<Passage | undefined> {
  try {
    return await parts.gate.enter();
  } catch (error) {
    attempt.trouble('gate', error);
    return undefined;
  }
}

/** One attempt behind the gate. No outcome means that nothing was sent and nobody is to blame. */
async function attemptOnce(
  data: JobData,
  passage: Passage,
  owned: () => boolean,
  abort: AbortSignal,
  parts: HandlerParts,
): Promise<{ outcome: Outcome | undefined; answer?: SendAnswer }> {
  const { tokens } = parts;
  let used: Token | undefined;
  const guarded = (token: Token): Token => {
    if (abort.aborted || !owned()) throw new NotStarted();
    used = token;
    return token;
  };
  const source: TokenSource = {
    get: async (until) => guarded(await tokens.get(either(abort, until))),
    renew: async (refused, status, until) =>
      guarded(await tokens.renew(refused, status, either(abort, until))),
  };

  let answer: SendAnswer | undefined;
  let outcome: Outcome | undefined;
  try {
    answer = await parts.service.send(data.notice, source, { deadlineMs: parts.sendDeadlineMs });
    outcome = decideOutcome(answer, await judgementOf(answer, used, parts));
    if (outcome.kind === 'accepted' && used !== undefined) tokens.accepted(used);
  } catch (error) {
    outcome = abort.aborted || error instanceof NotStarted ? undefined : outcomeOfTokenError(error);
  }
  await settlePassage(outcome, passage, parts);
  return answer === undefined ? { outcome } : { outcome, answer };
}

/** Asks the token slot about a second refusal; only it knows whether that token worked for others. */
async function judgementOf(
  answer: SendAnswer,
  used: Token | undefined,
  { tokens }: HandlerParts,
): Promise<'again' | 'refused' | undefined> {
  const last = answer.refused.at(-1);
  if (!needsJudgement(answer) || used === undefined || last === undefined) return undefined;
  return tokens.judge(used, last.status);
}

/** What a failed wait for a token means: nothing was sent. */
export function outcomeOfTokenError(error: unknown): Outcome {
  if (error instanceof TokenRefusedError) {
    return {
      kind: 'hold',
      hold: error.hold,
      code: error.refusalCode,
      forMs: Math.max(1, error.retryInMs),
    };
  }
  const code = error instanceof NoticeQueueError ? error.code : 'TOKEN_UNAVAILABLE';
  return { kind: 'retry', code, counted: false };
}

/** Places or lifts holds. Trouble with Redis here costs a probe, never an outcome. */
async function settlePassage(
  outcome: Outcome | undefined,
  passage: Passage,
  { gate, log }: HandlerParts,
): Promise<void> {
  try {
    if (outcome?.kind === 'hold') {
      const { hold, code } = outcome;
      const forMs =
        hold === 'throttled' && outcome.forMs !== undefined
          ? Math.max(outcome.forMs, THROTTLED_MIN_MS)
          : outcome.forMs;
      await gate.place(hold, code, passage, forMs);
    } else if (outcome?.kind === 'accepted' || outcome?.kind === 'rejected') {
      await passage.succeeded();
    } else if (outcome?.kind === 'retry' || outcome?.kind === 'unknown') {
      await passage.undecided();
    } else {
      await passage.abandoned();
    }
  } catch (error) {
    log.trouble('hold', error);
  }
}

function either(abort: AbortSignal, until: AbortSignal | undefined): AbortSignal {
  return until === undefined ? abort : AbortSignal.any([abort, until]);
}

/** What is kept with a job that failed: the status and the service's own message, masked. */
function detailOf(answer: SendAnswer | undefined): string {
  if (answer === undefined) return '';
  const status = answer.status === undefined ? '' : `HTTP ${answer.status}`;
  return [status, answer.message ?? answer.failureCode ?? '']
    .filter((part) => part !== '')
    .join(' ');
}

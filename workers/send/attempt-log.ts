import type { Job } from 'bullmq';
import type { Logger } from 'pino';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { SeenAttempt } from '../../src/contracts/seen-attempt.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { redisErrorCode } from '../../src/redis/failure.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';

/**
 * One line per attempt, named `attempt`, with every fact and nothing secret or personal: whoever
 * asks what happened to a job filters by `job` and reads one line for each attempt.
 *
 * An attempt that ended without blame and without a request (`returned`) is written at level debug.
 */
export class AttemptLog {
  readonly #logger: Logger;
  readonly #onAttempt: (attempt: SeenAttempt) => void;

  /** @param onAttempt told of each attempt that has an outcome, for those who count them */
  constructor(logger: Logger, onAttempt: (attempt: SeenAttempt) => void = () => {}) {
    this.#logger = logger;
    this.#onAttempt = onAttempt;
  }

  begin(job: Job): OpenAttempt {
    const startedAt = performance.now();
    const dueAt = job.timestamp + job.delay;
    const waitedMs = Math.max(0, (job.processedOn ?? Date.now()) - dueAt);
    const logger = this.#logger;
    const onAttempt = this.#onAttempt;
    return {
      end(outcome, answer, facts = {}) {
        if (outcome !== undefined) {
          onAttempt(
            seenAttempt(outcome, answer, facts, job.attemptsMade === 0 ? waitedMs : undefined),
          );
        }
        logger[levelOf(outcome)](
          lineOf(job, outcome, answer, facts, waitedMs, performance.now() - startedAt),
          'attempt',
        );
      },
    };
  }

  /** A request with several notices was refused, and goes on in parts. */
  groupRefused(notices: number, code: string, answer: SendAnswer | undefined): void {
    const { status, message: serviceMessage, traceId: requestId } = answer ?? {};
    const facts = { notices, code, status, serviceMessage, requestId };
    this.#logger.info({ event: 'group-refused', ...facts });
  }

  /** Redis failed at something that is not an attempt's outcome. */
  trouble(where: string, error: unknown): void {
    const code = error instanceof NoticeQueueError ? error.code : redisErrorCode(error);
    this.#logger.warn({ event: 'trouble', where, code });
  }
}

/** An attempt under way. */
export interface OpenAttempt {
  /** Writes the attempt's line; no outcome means that the job went back unsent. */
  end(outcome: Outcome | undefined, answer?: SendAnswer, facts?: AttemptFacts): void;
}

/** What an attempt was about. */
export interface AttemptFacts {
  readonly contacts?: number;
  /** Single notices in the same request, where there were several. */
  readonly together?: number | undefined;
  /** Requests of refused groups that are counted with this attempt, beside its own. */
  readonly uncounted?: number | undefined;
  /** False where the request is counted with another notice that it carried. */
  readonly counted?: boolean | undefined;
  /** It was a hold's probe. */
  readonly probe?: boolean | undefined;
  readonly batch?: string;
  readonly chunk?: number;
}

/** @param waitedMs absent where this is not the job's first attempt */
function seenAttempt(
  outcome: Outcome,
  answer: SendAnswer | undefined,
  facts: AttemptFacts,
  waitedMs: number | undefined,
): SeenAttempt {
  const { counted = true, uncounted = 0 } = facts;
  return {
    lane: facts.batch === undefined ? 'notices' : 'chunks',
    outcome: outcome.kind,
    ...('code' in outcome ? { code: outcome.code } : {}),
    ...(outcome.kind === 'hold' ? { hold: outcome.hold } : {}),
    contacts: facts.contacts ?? 0,
    requests: counted ? (answer?.requests ?? 0) + uncounted : 0,
    ...(answer?.answerMs === undefined || !counted ? {} : { answerMs: answer.answerMs }),
    ...(waitedMs === undefined || !endsWait(outcome) ? {} : { waitedMs }),
  };
}

/** Whether the job's wait for its first attempt is over: the service was really asked. */
function endsWait(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'accepted':
    case 'rejected':
    case 'unknown':
      return true;
    case 'retry':
      return outcome.counted;
    case 'hold':
    case 'expired':
    case 'cancelled':
      return false;
  }
}

/**
 * One object of one shape, with undefined for what does not apply: a line for each attempt is a good
 * part of what an attempt costs, and one put together from parts costs far more.
 */
function lineOf(
  job: Job,
  outcome: Outcome | undefined,
  answer: SendAnswer | undefined,
  { probe, together = 1, contacts, batch, chunk }: AttemptFacts,
  waitedMs: number,
  tookMs: number,
) {
  return {
    event: 'attempt',
    job: job.id,
    attempt: job.attemptsMade + 1,
    outcome: outcome?.kind ?? 'returned',
    confirmed: outcome?.kind === 'accepted' ? outcome.confirmed : undefined,
    hold: outcome?.kind === 'hold' ? outcome.hold : undefined,
    code: outcome !== undefined && 'code' in outcome ? outcome.code : undefined,
    counted: outcome?.kind === 'retry' ? outcome.counted : undefined,
    probe: probe === true ? probe : undefined,
    together: together > 1 ? together : undefined,
    contacts,
    batch,
    chunk,
    waitedMs,
    tookMs: Math.round(tookMs),
    stage: answer?.stage,
    status: answer?.status,
    serviceCode: answer?.code,
    serviceMessage: answer?.message,
    failure: answer?.failure,
    failureCode: answer?.failureCode,
    requestId: answer?.traceId,
    token: answer?.tokenId,
    refused: answer !== undefined && answer.refused.length > 0 ? answer.refused : undefined,
    requests: answer?.requests,
    sendMs: answer === undefined ? undefined : Math.round(answer.durationMs),
  };
}

function levelOf(outcome: Outcome | undefined): 'debug' | 'info' | 'warn' | 'error' {
  switch (outcome?.kind) {
    case undefined:
      return 'debug';
    case 'accepted':
    case 'cancelled':
      return 'info';
    case 'rejected':
    case 'unknown':
      return 'error';
    case 'expired':
    case 'hold':
    case 'retry':
      return 'warn';
  }
}

import type { Job } from 'bullmq';
import type { Logger } from 'pino';
import type { Outcome } from '../src/contracts/outcome.ts';
import { NoticeQueueError } from '../src/errors.ts';
import { redisErrorWord } from '../src/redis/failure.ts';
import type { SendAnswer } from '../src/service/send-answer.ts';

/**
 * One line per attempt, named `attempt`, with every fact and nothing secret or personal: whoever
 * asks what happened to a job filters by `job` and reads one line for each attempt.
 *
 * An attempt that ended without blame and without a request (`returned`) is written at level debug.
 */
export class AttemptLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  begin(job: Job): OpenAttempt {
    const startedAt = performance.now();
    const dueAt = job.timestamp + job.delay;
    const waitedMs = Math.max(0, (job.processedOn ?? Date.now()) - dueAt);
    const logger = this.#logger;
    return {
      end(outcome, answer, facts = {}) {
        const { probe, together = 1, ...others } = facts;
        const line = {
          event: 'attempt',
          job: job.id,
          attempt: job.attemptsMade + 1,
          ...(outcome === undefined ? { outcome: 'returned' } : describe(outcome)),
          ...(probe === true ? { probe } : {}),
          ...(together > 1 ? { together } : {}),
          ...others,
          waitedMs,
          tookMs: Math.round(performance.now() - startedAt),
          ...(answer === undefined ? {} : answered(answer)),
        };
        logger[levelOf(outcome)](line, 'attempt');
      },
    };
  }

  /** A request with several notices was refused, and goes on in parts. */
  groupRefused(notices: number, outcome: Outcome, answer: SendAnswer | undefined): void {
    const facts = answer === undefined ? {} : answered(answer);
    this.#logger.info({ event: 'group-refused', notices, ...describe(outcome), ...facts });
  }

  /** Redis failed at something that is not an attempt's outcome. */
  trouble(where: string, error: unknown): void {
    const code = error instanceof NoticeQueueError ? error.code : redisErrorWord(error);
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
  /** It was a hold's probe. */
  readonly probe?: boolean | undefined;
  readonly batch?: string;
  readonly chunk?: number;
}

function describe(outcome: Outcome): Record<string, unknown> {
  switch (outcome.kind) {
    case 'accepted':
      return { outcome: 'accepted', confirmed: outcome.confirmed };
    case 'hold':
      return { outcome: 'hold', hold: outcome.hold, code: outcome.code };
    case 'retry':
      return { outcome: 'retry', code: outcome.code, counted: outcome.counted };
    case 'rejected':
    case 'unknown':
      return { outcome: outcome.kind, code: outcome.code };
    case 'expired':
    case 'cancelled':
      return { outcome: outcome.kind };
  }
}

function answered(answer: SendAnswer): Record<string, unknown> {
  return {
    stage: answer.stage,
    status: answer.status,
    serviceCode: answer.code,
    serviceMessage: answer.message,
    failure: answer.failure,
    failureCode: answer.failureCode,
    requestId: answer.traceId,
    token: answer.tokenId,
    ...(answer.refused.length === 0 ? {} : { refused: answer.refused }),
    requests: answer.requests,
    sendMs: Math.round(answer.durationMs),
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

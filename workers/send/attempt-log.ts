import type { Job } from 'bullmq';
import type { Logger } from 'pino';
import { waitsSince } from '../../src/contracts/job.ts';
import type { Outcome, SeenAttempt } from '../../src/contracts/outcome.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

const COUNT_EVERY_MS = 10_000;

/**
 * Logs one line per attempt, event `attempt`, with all facts and nothing secret or personal. To see what
 * happened to a job, filter by `job`.
 *
 * At level debug: what was accepted at the first attempt with nothing to remark, and an attempt that ended without a
 * request and is not counted (`returned`). Every ten seconds in which something was accepted, one line of level info,
 * event `accepted`, counts it.
 */
export class AttemptLog {
  readonly #logger: Logger;
  readonly #onAttempt: (attempt: SeenAttempt) => void;
  /** Since the last line that counts them. */
  #accepted = { jobs: 0, contacts: 0 };
  #counting: NodeJS.Timeout | undefined;

  /** @param onAttempt called with each attempt that has an outcome, for counting */
  constructor(logger: Logger, onAttempt: (attempt: SeenAttempt) => void = () => {}) {
    this.#logger = logger;
    this.#onAttempt = onAttempt;
  }

  begin(job: Job) {
    const startedAt = performance.now();
    const waitedMs = Math.max(0, (job.processedOn ?? Date.now()) - waitsSince(job));
    const logger = this.#logger;
    return {
      /** Logs the attempt. No outcome means that the job is requeued unsent. */
      end: (returned: Outcome | undefined, answer?: SendAnswer, facts: AttemptFacts = {}) => {
        const outcome = returned ?? afterRefusal(answer);
        if (outcome !== undefined) {
          const isFirst = job.attemptsMade === 0;
          const seen = seenAttempt(outcome, answer, facts, isFirst ? waitedMs : undefined);
          this.#onAttempt(seen);
          if (seen.outcome === 'accepted') this.#count(seen);
        }
        const level = levelOf(job, outcome, answer, facts);
        if (!logger.isLevelEnabled(level)) return;
        const tookMs = performance.now() - startedAt;
        logger[level](lineOf(job, outcome, answer, facts, waitedMs, tookMs), 'attempt');
      },
    };
  }

  #count({ contacts }: SeenAttempt): void {
    this.#accepted.jobs += 1;
    this.#accepted.contacts += contacts;
    this.#counting ??= setTimeout(() => this.flush(), COUNT_EVERY_MS).unref();
  }

  /** Logs how much was accepted since the last such line, where something was. */
  flush(): void {
    if (this.#counting === undefined) return;
    clearTimeout(this.#counting);
    this.#counting = undefined;
    this.#logger.info({ event: 'accepted', ...this.#accepted });
    this.#accepted = { jobs: 0, contacts: 0 };
  }

  /** Logs an error of Redis that does not change the outcome of an attempt. */
  trouble(where: string, error: unknown): void {
    const fields =
      error instanceof NoticeQueueError ? { code: error.code } : redisErrorFields(error);
    this.#logger.warn({ event: 'trouble', where, ...fields });
  }
}

interface AttemptFacts {
  readonly contacts?: number;
  /** How many earlier attempts the service may have accepted. */
  readonly possiblySent?: number;
  readonly probe?: boolean | undefined;
  readonly batch?: string;
  readonly chunk?: number;
}

/** The outcome of a job that is returned after a request of it was refused: it was not returned unsent. */
function afterRefusal(answer: SendAnswer | undefined): Outcome | undefined {
  const first = answer?.refused[0];
  if (first === undefined) return undefined;
  return { kind: 'retry', code: first.code ?? `HTTP_${first.status}`, counted: false };
}

/** @param waitedMs absent if this is not the first attempt of the job */
function seenAttempt(
  outcome: Outcome,
  answer: SendAnswer | undefined,
  { batch, contacts = 0, possiblySent = 0 }: AttemptFacts,
  waitedMs: number | undefined,
): SeenAttempt {
  const { kind } = outcome;
  // Field by field, as lineOf().
  const seen: { -readonly [Fact in keyof SeenAttempt]: SeenAttempt[Fact] } = {
    lane: batch === undefined ? 'notices' : 'chunks',
    outcome: kind,
    contacts,
    requests: answer?.requests ?? 0,
  };
  if ('code' in outcome) seen.code = outcome.code;
  if (kind === 'hold') seen.hold = outcome.hold;
  if (possiblySent > 0 && (kind === 'accepted' || isOwnUnknown(outcome))) {
    seen.possiblySentTwice = contacts;
  }
  if (answer?.answerMs !== undefined) seen.answerMs = answer.answerMs;
  // Where a request was made, the job's wait for its first attempt is over.
  const wasRequested = kind === 'accepted' || kind === 'rejected' || kind === 'unknown';
  if (waitedMs !== undefined && (wasRequested || (kind === 'retry' && outcome.counted))) {
    seen.waitedMs = waitedMs;
  }
  return seen;
}

const isOwnUnknown = (outcome: Outcome | undefined): boolean =>
  outcome?.kind === 'unknown' && outcome.earlier !== true;

/**
 * Always the same properties, undefined where they do not apply: the log line is a good part of the cost of
 * an attempt, and an object made by spreading costs far more.
 */
function lineOf(
  job: Job,
  outcome: Outcome | undefined,
  answer: SendAnswer | undefined,
  { probe, contacts, batch, chunk, possiblySent = 0 }: AttemptFacts,
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
    contacts,
    rule: answer?.rule?.number,
    // Attempts so far, this one included, that the service may have accepted without saying so.
    possiblySent: possiblySent + (isOwnUnknown(outcome) ? 1 : 0) || undefined,
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

const LEVELS = {
  rejected: 'error',
  unknown: 'error',
  expired: 'warn',
  suppressed: 'info',
  hold: 'warn',
  retry: 'warn',
} as const;

/** What was possibly sent twice is named at LOG_LEVEL=warn, too. */
function levelOf(
  { attemptsMade }: Job,
  outcome: Outcome | undefined,
  answer: SendAnswer | undefined,
  { possiblySent = 0, probe }: AttemptFacts,
): 'debug' | 'info' | 'warn' | 'error' {
  if (outcome === undefined) return 'debug';
  if (outcome.kind !== 'accepted') return LEVELS[outcome.kind];
  if (possiblySent > 0) return 'warn';
  // At its first attempt, with the token at hand.
  const isUsual = attemptsMade === 0 && outcome.confirmed && answer?.refused.length === 0;
  return isUsual && probe !== true ? 'debug' : 'info';
}

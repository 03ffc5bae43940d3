import { DelayedError, RateLimitError, type Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import type { Outcome, PossibleSends } from '../../src/contracts/outcome.ts';
import type { TroubleHistory } from '../../src/fleet/hold/trouble.ts';
import { possibleSends, type JobHistories } from '../../src/fleet/job-history.ts';
import type { EndedEntry } from '../../src/notices/ended.ts';
import { isKeyOfAccount } from '../../src/payload/account-secret.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';
import { AttemptError, type Backoff } from '../queue/attempt-error.ts';
import { SendJob } from '../queue/send-job.ts';
import type { AttemptLog } from './attempt-log.ts';

/** The result of a job: the record of a notice or the ledger has the rest. */
export interface JobResult extends Partial<PossibleSends> {
  readonly outcome: string;
  readonly confirmed?: boolean;
  /** Contacts of an accepted notice that were left out: they are on the do-not-send list. */
  readonly suppressed?: number;
}

/** The state in which a notice or a chunk ends, and why. */
export type EndState = Pick<EndedEntry, 'code'> & {
  readonly state: 'rejected' | 'unknown' | 'expired' | 'suppressed';
};

/**
 * How a notice or a chunk ends with this outcome; undefined where it is accepted or tried again.
 *
 * | outcome | state |
 * |---|---|
 * | rejected; retry that is counted, with no attempts left | rejected |
 * | unknown, at-most-once, final, or with no attempts left | unknown |
 * | expired, suppressed | the same |
 */
export function endOf(
  outcome: Outcome | undefined,
  isOnce: boolean,
  lastAttempt: boolean,
): EndState | undefined {
  switch (outcome?.kind) {
    case 'rejected':
      return { state: 'rejected', code: outcome.code };
    case 'retry':
      return outcome.counted && lastAttempt ? { state: 'rejected', code: outcome.code } : undefined;
    case 'unknown':
      return isOnce || lastAttempt || outcome.final === true
        ? { state: 'unknown', code: outcome.code }
        : undefined;
    case 'expired':
      return { state: 'expired', code: 'EXPIRED' };
    case 'suppressed':
      return { state: 'suppressed', code: 'SUPPRESSED' };
    case undefined:
    case 'accepted':
    case 'hold':
      return undefined;
  }
}

/** Removes the stack: BullMQ would store it with the job, and it says no more than the code. */
export function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = '';
  return error;
}

/** Delay of a job that is tried again without counting an attempt, in milliseconds. */
const SHORT_DELAY_MS = 1_000;

/**
 * Ends the run of a job that is tried again. BullMQ acts by what a run throws, which is stored with the job and shown by
 * boards, so it contains codes and no data.
 *
 * | outcome | thrown | attempt | job |
 * |---|---|---|---|
 * | retry, unknown | AttemptError | counted | backs off |
 * | retry, not counted | DelayedError | not counted | delayed for a second |
 * | hold that its own request met | DelayedError | not counted | behind the others: delayed until after the next probe |
 * | hold otherwise, none | RateLimitError | not counted | first in the queue when the hold is over |
 * @param possiblySent attempts that the service may have accepted, this one included
 */
export async function tryAgain(
  job: Job,
  outcome: Outcome | undefined,
  answer: SendAnswer | undefined,
  possiblySent: number,
): Promise<never> {
  if (outcome?.kind === 'unknown') throw counted(outcome.code, answer, { possiblySent });
  if (outcome?.kind === 'retry') {
    if (outcome.counted) throw counted(outcome.code, answer, outcome.backoff);
    return delayJob(job, SHORT_DELAY_MS, outcome.code);
  }
  if (outcome?.kind === 'hold' && outcome.behindMs !== undefined) {
    return delayJob(job, outcome.behindMs, outcome.code);
  }
  return requeue();
}

function counted(code: string, answer: SendAnswer | undefined, backoff: Backoff): AttemptError {
  const detail = detailOf(answer);
  return withoutStack(new AttemptError(detail === '' ? code : `${code}: ${detail}`, backoff));
}

export const PUT_OFF = 'its template is held, its sending hours are closed, or others go first';

/** Delays an unsent job by `ms` milliseconds, which BullMQ reckons from the wall clock, without counting an attempt. */
export async function delayJob(job: Job, ms: number, reason: string): Promise<never> {
  await job.moveToDelayed(Date.now() + ms, job.token);
  throw withoutStack(new DelayedError(reason));
}

/** Returns an unsent job to the front of the queue, without counting an attempt. */
export function requeue(): never {
  // The message is BullMQ's own signal.
  throw withoutStack(new RateLimitError());
}

/** What is kept of a failed attempt: the status and the service's own message, masked. */
export function detailOf(answer: SendAnswer | undefined): string {
  if (answer === undefined) return '';
  const status = answer.status === undefined ? '' : `HTTP ${answer.status}`;
  return [status, answer.message ?? answer.failureCode ?? '']
    .filter((part) => part !== '')
    .join(' ');
}

/** The job is requeued at once: while Redis refuses, not more often than this. */
export const REDIS_AGAIN_MS = 200;

/** Whether a run of a job began before: only then something may be remembered of it. */
export const isLaterRun = (job: Job): boolean => job.attemptsStarted > 1 || job.stalledCounter > 0;

/** What earlier runs of a job left. */
export interface EarlierRun {
  readonly trouble?: TroubleHistory | undefined;
  /** What the service may have accepted. */
  readonly sends: PossibleSends;
}

const NONE: EarlierRun = { sends: { possiblySent: 0, traceIds: [] } };

/** What is remembered of a job. A first run asks nothing. */
export async function readHistory(
  job: Job,
  histories: Pick<JobHistories, 'read'>,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<EarlierRun> {
  if (!isLaterRun(job)) return NONE;
  const history = await readOrRequeue(() => histories.read(job.id ?? ''), log);
  const { trouble, unknown } = history;
  if (job instanceof SendJob) job.hasHistory = trouble !== undefined || unknown.length > 0;
  return { trouble, sends: possibleSends(history, job.stalledCounter) };
}

/** What a run has to know before it sends; while Redis does not answer, the job is requeued. */
export async function readOrRequeue<Read>(
  read: () => Promise<Read>,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<Read> {
  try {
    return await read();
  } catch (error) {
    log.trouble('history', error);
    await pause(REDIS_AGAIN_MS);
    return requeue();
  }
}

/** A worker without a key of the account looks this often whether it has one by now. */
const LOOK_AGAIN_MS = 10_000;

/** A job with a key that no worker may have is tried again after this time. */
const FOREIGN_JOB_MS = 60_000;

interface WithoutKey {
  readonly suspend: (reason: 'payload-key', applies: boolean) => void;
  /** Called with how long the worker is not ready from now on. */
  readonly report: (reason: 'payload-key', forMs: number) => void;
}

/**
 * What cannot read takes nothing: a worker that meets a job without having its key, and has no key of the account
 * either, returns the job at once and takes no further ones until it has one.
 */
export class JobReturns {
  readonly #hasKey: () => Promise<boolean | undefined>;
  readonly #stopping: AbortSignal;
  readonly #withoutKey: WithoutKey;
  #isWaiting = false;

  /** @param secretKey key of the account's secret, which names the keys of the account */
  constructor(
    redis: RedisClient,
    secretKey: string,
    sealing: Sealing,
    stopping: AbortSignal,
    withoutKey: WithoutKey,
  ) {
    this.#hasKey = () => isKeyOfAccount(redis, secretKey, sealing).catch(() => undefined);
    this.#stopping = stopping;
    this.#withoutKey = withoutKey;
  }

  /**
   * Returns an unsent job without counting an attempt, by throwing.
   * @param release called before: gives back what the run has claimed
   */
  async returnJob(job: Job, release?: () => Promise<void>): Promise<never> {
    const isOther = await this.#hasKey();
    this.#withoutKey.report('payload-key', 2 * (isOther === true ? FOREIGN_JOB_MS : LOOK_AGAIN_MS));
    if (isOther === false) void this.#wait();
    await release?.();
    return isOther === true ? delayJob(job, FOREIGN_JOB_MS, 'payload-key') : requeue();
  }

  async #wait(): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { suspend, report } = this.#withoutKey;
    suspend('payload-key', true);
    while (!this.#stopping.aborted && (await this.#hasKey()) !== true) {
      report('payload-key', 2 * LOOK_AGAIN_MS);
      await pause(LOOK_AGAIN_MS, this.#stopping);
    }
    this.#isWaiting = false;
    if (!this.#stopping.aborted) suspend('payload-key', false);
  }
}

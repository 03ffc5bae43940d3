import type { Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { Passage } from '../../src/fleet/hold/hold-gate.ts';
import type { TroubleHistory } from '../../src/fleet/hold/trouble.ts';
import { NO_HISTORY, type JobHistories, type JobHistory } from '../../src/fleet/job-history.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';
import { SendJob } from '../queue/send-job.ts';
import type { AttemptLog } from './attempt-log.ts';
import { requeue } from './disposition.ts';

/** The job is requeued at once: while Redis refuses, not more often than this. */
const REDIS_AGAIN_MS = 200;

/** Whether a run of a job began before: only then something may be remembered of it. */
export const isLaterRun = (job: Job): boolean => job.attemptsStarted > 1 || job.stalledCounter > 0;

/** What is remembered of a job. A first run asks nothing. */
export async function readHistory(
  job: Job,
  histories: Pick<JobHistories, 'read'>,
  log: Pick<AttemptLog, 'trouble'>,
): Promise<JobHistory> {
  if (!isLaterRun(job)) return NO_HISTORY;
  const history = await readOrRequeue(() => histories.read(job.id ?? ''), log);
  if (job instanceof SendJob)
    job.hasHistory = history.trouble !== undefined || history.unknown.length > 0;
  return history;
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

export interface GateJob {
  readonly id: string;
  /** Under which its template is held (heldName); empty while it is not known. */
  readonly template: string;
  /** What it counts as in a row of refusals: the chunk that it is a part of. Default: the job itself. */
  readonly rowId?: string;
  readonly trouble?: TroubleHistory | undefined;
  /** Runs so far, this one included. Default 1. */
  readonly runs?: number;
  /** A chunk that is halved where one contact may be why it is rejected: that is not its end. */
  readonly isHalved?: boolean;
  /** It leaves the probe of a hold to others: sent at most once, it would end unknown. Default: false. */
  readonly leavesProbes?: boolean;
  /** Puts it back to waiting after it was rejected. */
  readonly takeBack: () => Promise<unknown>;
}

export interface Attempted {
  /** Undefined when nothing was sent, or only a request that was refused, and no notice is to blame. */
  readonly outcome: Outcome | undefined;
  readonly answer?: SendAnswer | undefined;
  /** Monotonic time before the last request. */
  readonly requestedAt?: number | undefined;
}

export interface Entered {
  readonly passage: Passage;
  readonly history?: TroubleHistory;
  /** Whether another one was accepted since. */
  readonly isContradicted: boolean;
}

/** An outcome that may concern others than the notice. */
export type HoldOutcome = Extract<Outcome, { kind: 'hold' }>;

/** Statuses that suggest that one contact, or their number, made the service refuse a request. */
const CAUSED_BY_A_CONTACT: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Whether one of the contacts, or their number, may have made the service reject a chunk as a whole: by the status, or
 * by the evidence (`own`). The service has taken nothing of the request, so its halves may be sent.
 */
export function mayBeOneContact(outcome: Outcome | undefined, status: number | undefined): boolean {
  if (outcome?.kind !== 'rejected') return false;
  return outcome.own === true || CAUSED_BY_A_CONTACT.has(status ?? 0);
}

/** What is taken back may still be under way. */
const TAKE_BACK_AGAIN_MS = 200;
const TAKE_BACK_TRIES = 25;

export async function untilDone(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries < TAKE_BACK_TRIES && !(await attempt()); tries++) {
    await pause(TAKE_BACK_AGAIN_MS);
  }
}

import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { JobLock } from '../queue/job-locks.ts';
import { earlierOutcome, knownAfter, maySend, type NoticeIntent } from './notice-intent.ts';

/** One run of the job of a single notice. */
export interface NoticeRun {
  readonly data: JobData;
  readonly intent: NoticeIntent;
  readonly lock: Pick<JobLock, 'valid'>;
  /** Whether its `expiresAt` has passed. */
  readonly isLate: () => boolean;
}

/** Whether a request with the notice may be made now. */
export const mayGo = ({ lock, isLate, intent }: NoticeRun): boolean =>
  lock.valid() && !isLate() && maySend(intent);

/** What becomes of a notice after its request, or without one; undefined where it is requeued and is not to blame. */
export function decideNotice(run: NoticeRun, outcome?: Outcome): Outcome | undefined {
  return outcome === undefined ? outcomeUnsent(run) : knownAfter(outcome, run.intent);
}

/**
 * A process that was stopped for longer than a lock lasts knows only of the attempts before its own: another worker may
 * have had the job since then. So an at-least-once notice ends here only with the lock as evidence.
 */
function outcomeUnsent({ data, intent, lock, isLate }: NoticeRun): Outcome | undefined {
  const isAtLeastOnce = data.delivery === undefined;
  if (isAtLeastOnce && !lock.valid()) return undefined;
  const earlier = earlierOutcome(intent);
  if (earlier !== undefined || !isLate()) return earlier;
  const neverStarted = isAtLeastOnce || intent.verdict === 'send';
  return neverStarted ? knownAfter({ kind: 'expired' }, intent) : undefined;
}

import { setTimeout } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { msAhead } from '../batch/failures/redrive-rate.ts';
import { cancelNotice } from '../notices/cancel.ts';
import { changeEnded } from '../notices/end-scripts.ts';
import { allEnded, type EndedHead, type FailedFilter } from '../notices/select-ended.ts';
import {
  readEndedAt,
  releaseKey,
  sendAgain,
  settleAgain,
  withNotices,
} from '../notices/send-again.ts';
import type { CancelOptions, CancelReport, NoticeRef } from '../notices/notice-state.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { appendAudit, type Actor } from './audit.ts';

/** The account whose notices are changed. */
export interface NoticeActionContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/**
 * Cancels a single notice that waits, and records it in the audit stream.
 *
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 */
export async function cancelAudited(
  { redis, keys }: NoticeActionContext,
  ref: NoticeRef,
  options: CancelOptions,
  actor: Actor,
): Promise<CancelReport> {
  const report = await cancelNotice(redis, keys, ref, options);
  if (report.cancelled) {
    const as = report.keyReleased === true ? 'cancelled, key released' : 'cancelled';
    await appendAudit(redis, keys, { ...actor, what: 'cancel', target: report.id, as });
  }
  return report;
}

/** Which failed notices are changed: those of the ids, and of the filter. */
export interface FailedSelection extends FailedFilter {
  /** Required, so that unknown ones, which may have arrived, are not sent again by mistake. */
  readonly state: NonNullable<FailedFilter['state']>;
  /** Ids of notices. Default: all that have failed */
  readonly ids?: readonly string[] | undefined;
  /** Notices at most. Default: no limit */
  readonly limit?: number | undefined;
}

/** What became of one notice: a field of {@link FailedReport}. */
type Changed = 'done' | 'gone' | 'late' | 'left';

/** Result of a redrive or a deletion. */
export interface FailedReport {
  /** Notices that were sent again, or deleted. */
  readonly done: number;
  readonly contacts: number;
  /** Not sent again because their deadline has passed: they would expire at once. */
  readonly late: number;
  /** Of the ids: not failed, or not in this state. Else: changed meanwhile. */
  readonly gone: number;
  /** Matched, but left because of the limit, or because it was stopped. */
  readonly left: number;
}

/**
 * Sends failed notices again, under their ids and with all their attempts, and records it in the audit
 * stream. What was possibly sent of them stays known.
 *
 * @param rate notices per second at most. Default: no limit
 * @param signal stops it between two notices; run it again for the rest
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was sent again before is queued
 */
export async function redriveNotices(
  context: NoticeActionContext,
  selection: FailedSelection,
  actor: Actor,
  rate = Infinity,
  signal?: AbortSignal,
  onProgress?: (done: number) => void,
): Promise<FailedReport> {
  const { redis, keys } = context;
  const startedAt = performance.now();
  let count = 0;
  const again = async (job: EndedHead, queue: Queue): Promise<Changed> => {
    const aheadMs = msAhead(count++, rate, startedAt);
    if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
    if (signal?.aborted === true) return 'left';
    if (job.expiresAt !== undefined && job.expiresAt <= Date.now()) return 'late';
    // What ended anew after it was selected has another time, and is not sent again.
    const entry = await readEndedAt(redis, keys, job);
    return entry !== undefined && (await sendAgain(redis, keys, queue, entry)) ? 'done' : 'gone';
  };
  return changeEach(context, selection, { ...actor, what: 'redrive' }, again, signal, onProgress);
}

/**
 * Deletes rejected notices, and records it in the audit stream.
 *
 * @param releasesKey whether their idempotency keys can be used anew, but not that of a notice with contacts that have a
 *   result of their own. Default: they stay in use
 * @param signal stops it between two notices
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was deleted before stays deleted
 */
export async function deleteNotices(
  context: NoticeActionContext,
  selection: FailedSelection & { readonly state: 'rejected' },
  actor: Actor,
  releasesKey = false,
  signal?: AbortSignal,
  onProgress?: (done: number) => void,
): Promise<FailedReport> {
  const { redis, keys } = context;
  const remove = async (job: EndedHead, queue: Queue): Promise<Changed> => {
    const entry = await readEndedAt(redis, keys, job);
    // While its job is there, its run was killed after it had recorded the end: without the entry it would be sent again.
    const withoutJob = true;
    if (entry === undefined || !(await changeEnded(redis, keys, entry, { withoutJob })))
      return 'gone';
    if (releasesKey && entry.key !== undefined) await releaseKey(queue, entry.id, entry.key);
    return 'done';
  };
  return changeEach(context, selection, { ...actor, what: 'delete' }, remove, signal, onProgress);
}

/** Changes the selected notices one by one, and records the sum. */
async function changeEach(
  context: NoticeActionContext,
  selection: FailedSelection,
  entry: Actor & { readonly what: 'redrive' | 'delete' },
  change: (job: EndedHead, queue: Queue) => Promise<Changed>,
  signal: AbortSignal | undefined,
  onProgress: (done: number) => void = () => {},
): Promise<FailedReport> {
  const { redis, keys } = context;
  const { ids, limit = Infinity, state, code } = selection;
  await settleAgain(redis, keys).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const found = await allEnded(context, selection);
  const sum = { done: 0, contacts: 0, late: 0, gone: 0, left: 0 };
  if (ids !== undefined) sum.gone = new Set(ids).size - found.length;
  try {
    await withNotices(redis, keys, async (queue) => {
      // The oldest first, as they would have been sent.
      for (const [index, job] of found.toReversed().entries()) {
        // A limit that is no number lets none through.
        if (!(index < limit) || signal?.aborted === true) {
          sum.left += 1;
          continue;
        }
        const result = await change(job, queue);
        sum[result] += 1;
        if (result === 'done') sum.contacts += job.contacts;
        onProgress(sum.done);
      }
    });
  } catch (error) {
    throw redisFailure(error);
  } finally {
    if (sum.done > 0) {
      const [only] = found;
      const target = found.length === 1 && only !== undefined ? only.id : 'single notices';
      const as = code === undefined ? state : `${state} ${code}`;
      await appendAudit(redis, keys, { ...entry, target, as, contacts: sum.contacts });
    }
  }
  return sum;
}

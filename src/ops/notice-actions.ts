import { setTimeout } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { msAhead } from '../batch/failures/redrive-rate.ts';
import { changeEnded } from '../notices/end-scripts.ts';
import { allEnded, type EndedHead, type EndedSelect } from '../notices/select-ended.ts';
import {
  readEndedAt,
  releaseKey,
  sendAgain,
  settleAgain,
  withNotices,
} from '../notices/send-again.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { FailedReport } from './answers/notice-schemas.ts';
import { appendAudit, type Actor } from './audit.ts';

/** The account whose notices are changed. */
export interface NoticeActionContext {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/** Which failed notices are changed. */
export interface FailedSelection extends EndedSelect {
  /** Required, so that unknown ones, which may have arrived, are not sent again by mistake. */
  readonly state: 'rejected' | 'unknown';
  /** Notices at most. Default: no limit */
  readonly limit?: number | undefined;
}

/** Who does it, and what ends it early. */
interface ActionCall extends Actor {
  /** Stops it between two notices; run it again for the rest. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number) => void) | undefined;
}

/**
 * Sends failed notices again, under their ids and with all their attempts, and records it in the audit stream. What was
 * possibly sent of them stays known. What was sent again before an error is queued.
 *
 * @param rate notices per second at most. Default: no limit
 */
export async function redriveNotices(
  context: NoticeActionContext,
  selection: FailedSelection,
  call: ActionCall,
  rate = Infinity,
): Promise<FailedReport> {
  const { redis, keys } = context;
  const { signal } = call;
  const startedAt = performance.now();
  let count = 0;
  return changeEach(context, selection, 'redrive', call, async (job, queue) => {
    const aheadMs = msAhead(count++, rate, startedAt);
    if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
    if (signal?.aborted === true) return 'left';
    if (job.expiresAt !== undefined && job.expiresAt <= Date.now()) return 'late';
    // What ended anew after it was selected has another time, and is not sent again.
    const entry = await readEndedAt(redis, keys, job);
    return entry !== undefined && (await sendAgain(redis, keys, queue, entry)) ? 'done' : 'gone';
  });
}

/**
 * Deletes rejected notices, and records it in the audit stream.
 *
 * @param releasesKey whether their idempotency keys can be used anew. Default: they stay in use
 */
export async function deleteNotices(
  context: NoticeActionContext,
  selection: FailedSelection & { readonly state: 'rejected' },
  call: ActionCall,
  releasesKey = false,
): Promise<FailedReport> {
  const { redis, keys } = context;
  return changeEach(context, selection, 'delete', call, async (job, queue) => {
    const entry = await readEndedAt(redis, keys, job);
    // While its job is there, its run was killed after it had recorded the end: without the entry it would be sent again.
    const withoutJob = true;
    if (entry === undefined || !(await changeEnded(redis, keys, entry, { withoutJob })))
      return 'gone';
    if (releasesKey && entry.key !== undefined) await releaseKey(queue, entry.id, entry.key);
    return 'done';
  });
}

/** Changes the selected notices one by one, and records the sum. */
async function changeEach(
  context: NoticeActionContext,
  { limit = Infinity, ...selection }: FailedSelection,
  what: 'redrive' | 'delete',
  { who, why, signal, onProgress }: ActionCall,
  change: (job: EndedHead, queue: Queue) => Promise<'done' | 'gone' | 'late' | 'left'>,
): Promise<FailedReport> {
  const { redis, keys } = context;
  const { ids, state, code } = selection;
  const sum = { done: 0, contacts: 0, late: 0, gone: 0, left: 0 };
  let target = 'single notices';
  try {
    await settleAgain(redis, keys);
    const found = await allEnded(context, selection);
    const [only] = found;
    if (only !== undefined && found.length === 1) target = only.id;
    if (ids !== undefined) sum.gone = new Set(ids).size - found.length;
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
        onProgress?.(sum.done);
      }
    });
  } catch (error) {
    throw redisFailure(error);
  } finally {
    if (sum.done > 0) {
      const as = code === undefined ? state : `${state} ${code}`;
      const { contacts } = sum;
      await appendAudit(redis, keys, { who, why, what, target, as, contacts });
    }
  }
  return sum;
}

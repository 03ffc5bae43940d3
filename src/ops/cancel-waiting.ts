import { setTimeout } from 'node:timers/promises';
import { endJob } from '../notices/cancel.ts';
import {
  WAITING_PAGE,
  waitingNotices,
  type WaitingFilter,
  type WaitingNotice,
} from '../notices/waiting.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Decision } from './decide.ts';
import { msAhead } from './operations/fields.ts';

/**
 * Cancels the notices that wait and match.
 *
 * @param report counts what is done, also where it ends with an error
 * @returns whether all that matched were tried: false where the limit or the signal has ended it
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was cancelled before stays cancelled
 */
export async function cancelWaiting(
  redis: RedisClient,
  keys: Keys,
  filter: WaitingFilter,
  report: { cancelled: number; contacts: number; possiblySent: number; gone: number },
  options: Pick<Decision, 'limit' | 'rate' | 'releaseKey' | 'signal' | 'onProgress'>,
): Promise<boolean> {
  const { limit = Infinity, rate = Infinity, releaseKey, onProgress, signal } = options;
  const startedAt = performance.now();
  // Not more at a time than a rate lets through in a moment.
  const atOnce = Math.max(1, Math.min(WAITING_PAGE, Math.ceil(rate / 20)));
  let tried = 0;
  const how = releaseKey === true ? 'release' : 'cancel';
  const cancel = async ({ id, contacts }: WaitingNotice) => {
    const { answer } = await endJob(redis, keys, { mode: 'id', text: id }, how);
    if (answer === 'cancelled') {
      report.cancelled += 1;
      report.contacts += contacts;
    } else if (answer === 'possibly-sent') report.possiblySent += 1;
    else report.gone += 1;
  };
  try {
    for await (const page of waitingNotices(redis, keys, filter, signal)) {
      for (let from = 0; from < page.length; from += atOnce) {
        const aheadMs = msAhead(tried, rate, startedAt);
        if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
        if (tried >= limit || signal?.aborted === true) return false;
        const some = page.slice(from, from + Math.min(atOnce, limit - tried));
        await Promise.all(some.map(cancel));
        tried += some.length;
        onProgress?.(report.cancelled);
      }
    }
    return signal?.aborted !== true;
  } catch (error) {
    throw redisFailure(error);
  }
}

import { parkRestoredNotice } from '../fleet/restore/park-restored.ts';
import { appendAudit } from './audit.ts';
import { lastEvent, type RestoredTarget } from './restored.ts';
import { restoredNotices } from './restored-notices.ts';

/** What was set aside. */
export interface ParkReport {
  readonly jobs: number;
  readonly contacts: number;
  /** The queue is not held for an old copy (any more): what was not set aside by then goes out. */
  readonly notHeld: boolean;
  /** It was told to stop; run it again for the rest. */
  readonly stopped: boolean;
}

/**
 * Sets the single notices of an old copy aside, while the queue is held for it: once the hold is
 * lifted, workers send none of them but list them as unknown, for a person to decide on. Safe to
 * repeat. Batches are left alone: they can be paused or cancelled.
 *
 * @param who is kept in the audit stream, with what was done
 * @param signal stops it between two notices
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was set aside before stays so
 */
export async function parkRestored(
  target: RestoredTarget,
  who: string,
  signal?: AbortSignal,
): Promise<ParkReport> {
  const { redis, keys } = target;
  const sum = { jobs: 0, contacts: 0, notHeld: false, stopped: false };
  const event = await lastEvent(target);
  if (event === undefined) return { ...sum, notHeld: true };
  try {
    for await (const notice of restoredNotices(redis, keys, event)) {
      if (signal?.aborted === true) return { ...sum, stopped: true };
      // Nobody could read it, so nobody would send it.
      if (notice.contacts.length === 0) continue;
      const become = await parkRestoredNotice(redis, keys, notice);
      if (become === 'not-held') return { ...sum, notHeld: true };
      if (become === 'changed') continue;
      sum.jobs += 1;
      sum.contacts += notice.contacts.length;
    }
    return sum;
  } finally {
    if (sum.jobs > 0) {
      const { contacts } = sum;
      const what = { what: 'park', target: 'restored notices', as: 'unknown', why: '' } as const;
      await appendAudit(redis, keys, { who, ...what, contacts });
    }
  }
}

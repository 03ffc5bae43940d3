import type { Queue } from 'bullmq';
import { cancelJob } from '../notices/cancel.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { readFailed } from '../notices/failed-notices.ts';
import { endUnknown, removeFailed } from '../notices/change-failed.ts';
import { replaceData } from './replace-data.ts';
import { readUnknown } from '../ops/unknown.ts';
import { NO_SEALING } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { openOrSearch, readData } from './stored-data.ts';
import { withoutNumber } from './without-number.ts';

/**
 * What became of a job with the number.
 *
 * | the job | only this number | others, too |
 * |---|---|---|
 * | waits | cancelled, then removed | shortened: without the contact |
 * | waits, possibly sent | possibly-sent: left | shortened |
 * | a worker has it | sending: left | sending: left |
 * | ended, listed as unknown | discarded, then removed | shortened |
 * | ended | removed | shortened |
 *
 * Where the contacts that a notice has ended for are gone, but others have a result of their own, it ends anew for these:
 * as unknown, rejected or accepted. If it waits instead, it is left as possibly-sent.
 *
 * With the job, its idempotency key is removed. Of data that no worker can read the whole job is erased.
 */
export type ErasedNotice =
  'cancelled' | 'removed' | 'shortened' | 'gone' | 'sending' | 'possibly-sent' | 'changed';

/** Attempts at a job that changes meanwhile. */
const ATTEMPTS = 3;

/**
 * Erases a number from the job of a single notice.
 *
 * @throws ScriptFailure, or NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, PAYLOAD_UNREADABLE
 */
export async function eraseNotice(
  source: NoticeSource & { readonly queue: Queue },
  id: string,
  number: string,
): Promise<ErasedNotice> {
  const { redis, keys, sealing = NO_SEALING } = source;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await readData(redis, keys, id);
    if (stored === undefined) return 'gone';
    const data = openOrSearch(stored, id, number, sealing);
    if (!('job' in data)) return data.mentions ? eraseJob(source, id) : 'gone';
    const rest = withoutNumber(data.job, number);
    if (rest === 'absent') return 'gone';
    if (rest === 'nothing') return eraseJob(source, id);
    const { end } = rest;
    const written = JSON.stringify(sealJob(rest.data, id, sealing));
    const contacts = rest.data.notice.contacts.length;
    const replaced = { was: stored.text, data: written, contacts, end };
    const answer = await replaceData(redis, keys, id, replaced);
    if (answer === 'done') return 'shortened';
    if (answer !== 'changed') return answer;
  }
  return 'changed';
}

/** Cancels a job if it waits, and removes it. */
async function eraseJob(
  { redis, keys, queue }: NoticeSource & { readonly queue: Queue },
  id: string,
): Promise<ErasedNotice> {
  const ended = await queue.getJobState(id);
  const asked = { mode: 'id', text: id } as const;
  const { answer } = await cancelJob(redis, keys, asked, { releaseKey: true });
  if (answer === 'not-kept') return 'gone';
  if (answer === 'sending' || answer === 'possibly-sent') return answer;
  const [listed] = await readUnknown(redis, keys, [id]);
  const [failed] = await readFailed(redis, keys, [id]);
  if (failed !== undefined) {
    const isRemoved =
      listed === undefined
        ? await removeFailed(redis, keys, failed, 'erase')
        : await endUnknown(redis, keys, listed, 'cancelled', 'erase');
    return isRemoved ? 'removed' : 'changed';
  }
  // Removes its idempotency key, too.
  const removed = await queue.remove(id);
  if (removed !== 1) return 'changed';
  return answer === 'cancelled' && ended !== 'completed' ? 'cancelled' : 'removed';
}

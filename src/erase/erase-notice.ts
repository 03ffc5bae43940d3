import type { Queue } from 'bullmq';
import { cancelJob } from '../notices/cancel.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { changeEnded } from '../notices/end-scripts.ts';
import { endedText, readEnded, type EndedNotice } from '../notices/ended.ts';
import { releaseKey } from '../notices/send-again.ts';
import { replaceData } from './replace-data.ts';
import { NO_SEALING } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { openOrSearch, readData, withoutNumber } from './stored-data.ts';

/**
 * What became of a job with the number.
 *
 * | the job | only this number | others, too |
 * |---|---|---|
 * | waits | cancelled, then removed | shortened: without the contact |
 * | waits, possibly sent | possibly-sent: left | shortened |
 * | a worker has it | sending: left | sending: left |
 * | ended as unknown | discarded, and removed | shortened |
 * | ended | removed | shortened |
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
  source: EraseSource,
  id: string,
  number: string,
): Promise<ErasedNotice> {
  const { redis, keys, sealing = NO_SEALING } = source;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await readData(redis, keys, id);
    if (stored === undefined) return 'gone';
    const data = openOrSearch(stored, id, number, sealing);
    const { ended } = stored;
    const rest = 'job' in data ? withoutNumber(data.job, number) : undefined;
    if (rest === 'absent' || ('mentions' in data && !data.mentions)) return 'gone';
    if (rest === undefined || rest === 'nothing') {
      const answer = await (ended === undefined ? eraseJob(source, id) : eraseEnded(source, ended));
      if (answer !== 'changed') return answer;
      continue;
    }
    const written = JSON.stringify(sealJob(rest, id, sealing));
    if (ended !== undefined) {
      const { text: was, state, ...entry } = ended;
      const contacts = rest.notice.contacts.length;
      const text = endedText({ ...entry, state, contacts, data: written });
      const read = { id, text: was, state };
      if (await changeEnded(redis, keys, read, { text, to: state })) return 'shortened';
      continue;
    }
    const answer = await replaceData(redis, keys, id, stored.text, written);
    if (answer === 'done') return 'shortened';
    if (answer !== 'changed') return answer;
  }
  return 'changed';
}

type EraseSource = NoticeSource & { readonly queue: Queue };

/** Cancels a job if it waits, and removes it. */
async function eraseJob(source: EraseSource, id: string): Promise<ErasedNotice> {
  const { redis, keys, queue } = source;
  const asked = { mode: 'id', text: id } as const;
  const { answer } = await cancelJob(redis, keys, asked, { releaseKey: true });
  if (answer === 'not-kept') return 'gone';
  if (answer === 'sending' || answer === 'possibly-sent') return answer;
  const [entry] = await readEnded(redis, keys, [id]);
  if (entry !== undefined) {
    const isCancelled = answer === 'cancelled' && (await eraseEnded(source, entry)) === 'removed';
    return isCancelled ? 'cancelled' : 'changed';
  }
  // Removes its idempotency key, too.
  return (await queue.remove(id)) === 1 ? 'removed' : 'changed';
}

/** Removes the record of an end. An unknown one is discarded with it. */
async function eraseEnded(
  { redis, keys, queue }: EraseSource,
  ended: EndedNotice,
): Promise<ErasedNotice> {
  const { id, key, state } = ended;
  const change = state === 'unknown' ? ({ state: 'cancelled' } as const) : {};
  // While its job is there, its run was killed after it had recorded the end: without the entry it would be sent again.
  const withoutJob = true;
  if (!(await changeEnded(redis, keys, ended, { ...change, withoutJob }))) return 'changed';
  // Without an idempotency key a job has its own id in the place of one.
  await releaseKey(queue, id, key ?? id);
  return 'removed';
}

import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { Intents } from '../fleet/intents/intents.ts';
import { announceEnd } from '../notices/announce-end.ts';
import { cancelJobs } from '../notices/cancel.ts';
import type { NoticeSource } from '../notices/notice-source.ts';
import { replaceData } from './replace-data.ts';
import { readUnknown } from '../ops/unknown.ts';
import { NO_SEALING } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { openOrSearch, readData } from './stored-data.ts';

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
    const { notice, accepted, settled } = data.job;
    const others = notice.contacts.filter(({ contact }) => contact !== number);
    const acceptedOthers = accepted?.filter((one) => one !== number);
    const settledOthers = settled?.filter(({ contact }) => contact.contact !== number);
    const has =
      others.length < notice.contacts.length ||
      acceptedOthers?.length !== accepted?.length ||
      settledOthers?.length !== settled?.length;
    if (!has) return 'gone';
    if (others.length === 0) return eraseJob(source, id);
    const rest = {
      ...data.job,
      notice: { ...notice, contacts: others },
      ...(acceptedOthers === undefined ? {} : { accepted: acceptedOthers }),
      ...(settledOthers === undefined ? {} : { settled: settledOthers }),
    };
    const written = JSON.stringify(sealJob(rest, id, sealing));
    const answer = await replaceData(redis, keys, id, stored.text, written);
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
  const { answer } = await cancelJobs(redis, keys, asked, { releaseKey: true });
  if (answer === 'not-kept') return 'gone';
  if (answer === 'sending' || answer === 'possibly-sent') return answer;
  const [listed] = answer === 'unknown' ? await readUnknown(redis, keys, [id]) : [];
  const intents = new Intents(redis, keys);
  const decision = { job: id, nonce: randomUUID() };
  if (listed !== undefined) {
    if (!(await intents.decide(decision, 'over'))) return 'changed';
    await announceEnd(redis, keys, id, 'cancelled');
  }
  // Removes its idempotency key, too.
  const removed = await queue.remove(id);
  if (listed !== undefined) await intents.resolved(decision);
  if (removed !== 1) return 'changed';
  return answer === 'cancelled' && ended !== 'completed' ? 'cancelled' : 'removed';
}

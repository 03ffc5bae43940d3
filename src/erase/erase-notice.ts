import type { Queue } from 'bullmq';
import { cancelJob } from '../notices/cancel.ts';
import { changeEnded, ERASED } from '../notices/end-scripts.ts';
import { endedText, readEnded, type EndedNotice } from '../notices/ended.ts';
import { FIND_JOB } from '../notices/job-lua.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { releaseKey } from '../notices/send-again.ts';
import { NO_SEALING } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { defineScript } from '../redis/script.ts';
import { readStored } from './stored-notices.ts';

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

/**
 * Replaces the data of a job, unless a worker has it, or it is no longer what was read. KEYS: the job. ARGV: the prefix of BullMQ's keys, the id, the data as it was read, the new data.
 */
const replaceData = defineScript<'done' | 'gone' | 'changed' | 'sending'>({
  name: 'replace the data of a notice',
  lua: `
local jobs, id = ARGV[1], ARGV[2]
${FIND_JOB}
local data = redis.call('HGET', KEYS[1], 'data')
if not data then return 'gone' end
if data == ARGV[4] then return 'done' end
if data ~= ARGV[3] then return 'changed' end
if placeOf(id) == 'active' then return 'sending' end
redis.call('HSET', KEYS[1], 'data', ARGV[4], '${ERASED}', redis.call('HGET', KEYS[1], 'ats') or '0')
return 'done'`,
  parse: (reply) => reply as 'done' | 'gone' | 'changed' | 'sending',
});

type EraseSource = NoticeSource & { readonly queue: Queue };

/** Attempts at a job that changes meanwhile. */
const ATTEMPTS = 3;

/** Erases the forms of a number from the data of a single notice. */
export async function eraseNotice(
  source: EraseSource,
  id: string,
  forms: readonly string[],
): Promise<ErasedNotice> {
  const { redis, keys, sealing = NO_SEALING } = source;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await readStored(source, id, forms);
    if (stored === undefined || stored.held === 'no') return 'gone';
    if (stored.held === 'unreadable') break;
    const { ended, rest } = stored;
    if (rest === undefined) {
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
    const args = [keys.noticeJob(''), id, stored.text, written];
    const answer = await replaceData(redis, [keys.noticeJob(id)], args);
    if (answer === 'done') return 'shortened';
    if (answer !== 'changed') return answer;
  }
  return 'changed';
}

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

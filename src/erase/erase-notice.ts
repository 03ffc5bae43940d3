import { endJob } from '../notices/cancel.ts';
import { changeEnded, ERASED } from '../notices/end-scripts.ts';
import { endedText } from '../notices/ended.ts';
import { FIND_JOB } from '../notices/job-lua.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { NO_SEALING } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { defineScript } from '../redis/script.ts';
import { readStored, type StoredNotice } from './stored-notices.ts';

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

/** Attempts at a job that changes meanwhile. */
const ATTEMPTS = 3;

/** Erases the forms of a number from the data of a single notice. */
export async function eraseNotice(
  source: NoticeSource,
  id: string,
  forms: readonly string[],
): Promise<ErasedNotice> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const stored = await readStored(source, id, forms);
    if (stored === undefined || stored.held === 'no') return 'gone';
    if (stored.held === 'unreadable') break;
    const became = await eraseStored(source, id, stored);
    if (became !== 'changed') return became;
  }
  return 'changed';
}

async function eraseStored(
  { redis, keys, sealing = NO_SEALING }: NoticeSource,
  id: string,
  { ended, rest, text }: StoredNotice,
): Promise<ErasedNotice> {
  if (rest === undefined && ended === undefined) {
    const { answer } = await endJob(redis, keys, { mode: 'id', text: id }, 'erase');
    return answer === 'not-kept' ? 'gone' : (answer as ErasedNotice);
  }
  if (rest === undefined) {
    // An unknown one is discarded with it.
    const event = ended?.state === 'unknown' ? ({ state: 'cancelled' } as const) : {};
    // While its job is there, its run was killed after it had recorded the end: without the entry it would be sent again.
    const change = { ...event, withoutJob: true, release: true };
    return ended && (await changeEnded(redis, keys, ended, change)) ? 'removed' : 'changed';
  }
  const data = JSON.stringify(sealJob(rest, id, sealing));
  if (ended !== undefined) {
    const { text: _text, id: _id, ...entry } = ended;
    const shortened = endedText({ ...entry, contacts: rest.notice.contacts.length, data });
    const change = { text: shortened, to: ended.state };
    return (await changeEnded(redis, keys, ended, change)) ? 'shortened' : 'changed';
  }
  const answer = await replaceData(
    redis,
    [keys.noticeJob(id)],
    [keys.noticeJob(''), id, text, data],
  );
  return answer === 'done' ? 'shortened' : answer;
}

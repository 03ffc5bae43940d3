import type { NoticeJob, NoticeRef, NoticeView } from './notice-state.ts';
import { redisFailure } from '../redis/failure.ts';
import { lookUpScript, type StoredJob, type StoredNotice } from './look-up-script.ts';
import { readRef, type RefArguments } from './notice-ref.ts';
import { jobViews, noticeView } from './notice-view.ts';
import type { NoticeSource } from './notice-source.ts';

/** Jobs of one run of the script: each has up to CHUNK_SIZE contacts, and Redis waits for the script. */
const JOBS_AT_ONCE = 20;

/**
 * What is known of a notice. One round trip; one more for each further 20 jobs of a notice that has so
 * many. It changes nothing, and the notice need not exist.
 *
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function lookUpNotice(source: NoticeSource, ref: NoticeRef): Promise<NoticeView> {
  const asked = readRef(ref);
  try {
    return await lookUp(source, asked);
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Like {@link lookUpNotice}. @throws ScriptFailure */
export async function lookUp(source: NoticeSource, asked: RefArguments): Promise<NoticeView> {
  const { sealing } = source;
  const stored = await read(source, asked, 0, JOBS_AT_ONCE);
  const jobs: NoticeJob[] = jobViews(stored, sealing);
  while (jobs.length < stored.total) {
    const more = jobViews(await read(source, asked, jobs.length, JOBS_AT_ONCE), sealing);
    // The notice has ended meanwhile, and its jobs are deleted.
    if (more.length === 0) break;
    jobs.push(...more);
  }
  return noticeView(stored, jobs);
}

/** One job, at one moment; undefined where it is not kept. @throws ScriptFailure */
export async function readJob(source: NoticeSource, id: string): Promise<StoredJob | undefined> {
  const { jobs } = await read(source, { mode: 'id', text: id }, 0, 1);
  return jobs.find((job) => job.id === id && job.place !== 'none');
}

function read(
  { redis, keys }: NoticeSource,
  { mode, text }: RefArguments,
  first: number,
  most: number,
): Promise<StoredNotice> {
  const { hold, rateLimit, retention, intents } = keys;
  const from = [hold, rateLimit, retention, intents.open, intents.unknown];
  return lookUpScript(redis, from, [keys.noticeJob(''), mode, text, first, most]);
}

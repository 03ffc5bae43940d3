import { SET_ASIDE_FIELD, type JobData } from '../contracts/job.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { readEnded, type EndedNotice } from '../notices/ended.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { openJob } from '../payload/sealed-job.ts';
import type { Keys } from '../redis/keys.ts';
import type { RedisClient } from '../redis/connect.ts';
import { mentions } from './mentions.ts';

/** The data of a notice as Redis stores it, and what a worker set aside of it. */
export interface StoredData {
  readonly text: string;
  readonly setAside: string;
  /** The record of its end that has them; undefined where a job has them. */
  readonly ended?: EndedNotice;
}

/** Data that this version cannot read, as text. */
interface SearchedData {
  /** Whether it has the number in any spelling. */
  readonly mentions: boolean;
}

/** Reads the data of a notice; undefined if none are stored. */
export async function readData(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob' | 'ended' | 'endedIn'>,
  id: string,
): Promise<StoredData | undefined> {
  // In this order: a job goes after the record of its end is written.
  const [text, setAside] = await redis.hmget(keys.noticeJob(id), 'data', SET_ASIDE_FIELD);
  const [ended] = await readEnded(redis, keys, [id]);
  if (ended !== undefined) {
    return ended.data === undefined ? undefined : { text: ended.data, setAside: '', ended };
  }
  if (text === null || text === undefined) return undefined;
  return { text, setAside: setAside ?? '' };
}

/** The data of a job without a number: `absent` if it does not have it, `nothing` if it has no other one. */
export function withoutNumber(job: JobData, number: string): JobData | 'absent' | 'nothing' {
  const { notice } = job;
  const contacts = notice.contacts.filter(({ contact }) => contact !== number);
  if (contacts.length === notice.contacts.length) return 'absent';
  return contacts.length === 0 ? 'nothing' : { ...job, notice: { ...notice, contacts } };
}

/**
 * The data of a job. What no worker can read is searched for the number as text.
 *
 * @throws NoticeQueueError PAYLOAD_UNREADABLE as {@link openJob} does
 */
export function openOrSearch(
  { text, setAside }: StoredData,
  id: string,
  number: string,
  sealing: NoticeSource['sealing'],
): { readonly job: JobData } | SearchedData {
  const data = parsed(text);
  try {
    return { job: openJob(data, id, sealing) };
  } catch (error) {
    if (!(error instanceof NoticeQueueError) || error.code !== 'JOB_INVALID') throw error;
    const texts = [text, setAside];
    return { mentions: texts.some((one) => mentions(one, number)) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

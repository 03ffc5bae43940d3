import { z } from 'zod';
import { NoticeQueueError } from '../contracts/errors.ts';
import { SET_ASIDE_FIELD, type JobData } from '../contracts/job.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { readEnded, type EndedNotice } from '../notices/ended.ts';
import { idPages, type NoticePlace } from '../notices/waiting.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { openJob } from '../payload/sealed-job.ts';
import { storedJson } from '../redis/stored-json.ts';
import { spellingsOf } from '../service/response/value-pieces.ts';

/** What becomes of a notice with the number, if nothing changes until then. */
type Expected = 'cancelled' | 'sending' | 'removed' | 'shortened';

/**
 * In the order in which a notice passes them; those to which it returns are read twice, so that a job that moves during the
 * search is found.
 */
const PLACES: readonly NoticePlace[] = [
  ...(['delayed', 'prioritized', 'wait', 'paused', 'active'] as const),
  ...(['completed', 'failed', 'ended'] as const),
  ...(['delayed', 'prioritized', 'wait'] as const),
];

/**
 * Searches all single notices for a number, without the index: it finds what was queued without FIND_KEY, too.
 *
 * @param forms of the number: digits only
 * @param onUnreadable called for each notice whose contacts cannot be read
 */
export async function* storedNotices(
  source: NoticeSource,
  forms: readonly string[],
  onUnreadable: () => void,
  signal?: CancelSignal,
): AsyncGenerator<{ readonly id: string; readonly expected: Expected }> {
  const { redis, keys } = source;
  for await (const { place, ids } of idPages(redis, keys, PLACES, signal)) {
    const read = await Promise.all(ids.map((id) => readStored(source, id, forms)));
    for (const [index, id] of ids.entries()) {
      const held = read[index]?.held ?? 'no';
      if (held === 'unreadable') onUnreadable();
      else if (held !== 'no') yield { id, expected: expectedOf(place, held) };
    }
  }
}

function expectedOf(place: NoticePlace, held: 'alone' | 'shared'): Expected {
  if (place === 'active') return 'sending';
  if (held === 'shared') return 'shortened';
  return place === 'completed' || place === 'failed' || place === 'ended' ? 'removed' : 'cancelled';
}

/** What Redis has of a notice, and whether it has the number: alone, or beside others. */
export interface StoredNotice {
  readonly held: 'no' | 'alone' | 'shared' | 'unreadable';
  /** Its data as it is stored. */
  readonly text: string;
  /** What is left of it without the number; present where that is shared. */
  readonly rest?: JobData;
  /** The record of its end that has the data; undefined where a job has it. */
  readonly ended?: EndedNotice | undefined;
}

/** Reads a notice; undefined if no data of it are stored. What no worker can read is searched as text. */
export async function readStored(
  { redis, keys, sealing }: NoticeSource,
  id: string,
  forms: readonly string[],
): Promise<StoredNotice | undefined> {
  // In this order: a job goes after the record of its end is written.
  const [inJob, setAside] = await redis.hmget(keys.noticeJob(id), 'data', SET_ASIDE_FIELD);
  const [ended] = await readEnded(redis, keys, [id]);
  const text = ended === undefined ? inJob : ended.data;
  if (text === null || text === undefined) return undefined;
  try {
    const job = openJob(storedJson(z.unknown(), text), id, sealing);
    const contacts = job.notice.contacts.filter(({ contact }) => !forms.includes(contact));
    if (contacts.length === job.notice.contacts.length) return { held: 'no', text, ended };
    if (contacts.length === 0) return { held: 'alone', text, ended };
    return { held: 'shared', text, ended, rest: { ...job, notice: { ...job.notice, contacts } } };
  } catch (error) {
    const isInvalid = error instanceof NoticeQueueError && error.code === 'JOB_INVALID';
    if (!isInvalid) return { held: 'unreadable', text, ended };
    const texts = ended === undefined ? [text, setAside ?? ''] : [text];
    const isNamed = texts.some((one) => forms.some((form) => mentions(one, form)));
    return { held: isNamed ? 'alone' : 'no', text, ended };
  }
}

/** Shorter numbers are found as whole values only: as a part of a text they are years, prices or versions. */
const MIN_DIGITS = 7;

/** Between the digits of a number: spaces, hyphens, dots, parentheses. */
const SEPARATORS = '[^\\p{L}\\p{N}]{0,2}';

/**
 * Whether a text has a phone number in any spelling: with separators, full-width digits, the country code or without
 * the leading zero, also encoded. A longer number that contains it does not count.
 *
 * @param number digits only
 */
function mentions(text: string, number: string): boolean {
  const pattern = patternOf(number);
  return [text, ...spellingsOf(text)].some((one) => pattern.test(one.normalize('NFKC')));
}

function patternOf(number: string): RegExp {
  if (number.length < MIN_DIGITS) return new RegExp(`"${number}"`);
  const digits = number.replace(/^0/, '');
  const prefix = `(?:(?:00)?82${SEPARATORS}(?:0${SEPARATORS})?|0${SEPARATORS})?`;
  const start = digits === number ? '' : prefix;
  return new RegExp(`(?<!\\p{N})${start}${Array.from(digits).join(SEPARATORS)}(?!\\p{N})`, 'u');
}

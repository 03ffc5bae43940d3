import type { CancelSignal } from '../contracts/token.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { NoticeList } from '../redis/keys.ts';
import { openOrSearch, readData, withoutNumber, type StoredData } from './stored-data.ts';

/** Where a job with the number was found. */
export interface NoticeWithNumber {
  /** Id of the job. */
  readonly id: string;
  readonly place: 'waiting' | 'sending' | 'ended';
  /** Whether it has contacts of other people, too. */
  readonly shared: boolean;
}

/**
 * BullMQ's lists, and the records of ends, in the order in which a notice passes them; those to which it returns are read twice, so that a job
 * that moves during the search is found.
 */
const PLACES: readonly (readonly [NoticeList | 'entries', NoticeWithNumber['place']])[] = [
  ['delayed', 'waiting'],
  ['prioritized', 'waiting'],
  ['wait', 'waiting'],
  ['paused', 'waiting'],
  ['active', 'sending'],
  ['completed', 'ended'],
  ['failed', 'ended'],
  ['entries', 'ended'],
  ['delayed', 'waiting'],
  ['prioritized', 'waiting'],
  ['wait', 'waiting'],
];

const IS_LIST: ReadonlySet<string> = new Set(['wait', 'paused', 'active']);

/** Ids and jobs per read. */
const PAGE = 200;

/**
 * Searches all jobs of single notices for a number, without the index: it finds what was queued without FIND_KEY,
 * too. Data that no worker can read is searched as text.
 *
 * @param onUnreadable called for each job whose contacts cannot be read
 */
export async function* storedNotices(
  source: NoticeSource,
  number: string,
  onUnreadable: () => void,
  signal?: CancelSignal,
): AsyncGenerator<NoticeWithNumber> {
  const { redis, keys, sealing } = source;
  const seen = new Set<string>();
  for (const [list, place] of PLACES) {
    const ids =
      list === 'entries'
        ? scanned((cursor) => redis.hscan(keys.ended, cursor, 'COUNT', PAGE))
        : idsIn(redis, keys.noticesIn(list), IS_LIST.has(list));
    for await (const page of ids) {
      if (signal?.aborted === true) return;
      const unseen = page.filter((id) => !seen.has(id));
      for (const id of unseen) seen.add(id);
      const read = await Promise.all(unseen.map((id) => readData(redis, keys, id)));
      for (const [index, id] of unseen.entries()) {
        const data = read[index];
        const held = data === undefined ? 'no' : holds(data, id, number, sealing);
        if (held === 'unreadable') onUnreadable();
        else if (held !== 'no') yield { id, place, shared: held === 'shared' };
      }
    }
  }
}

/** Whether a job has the number, alone or beside others. */
export function holds(
  stored: StoredData,
  id: string,
  number: string,
  sealing: NoticeSource['sealing'],
): 'no' | 'alone' | 'shared' | 'unreadable' {
  let data: ReturnType<typeof openOrSearch>;
  try {
    data = openOrSearch(stored, id, number, sealing);
  } catch {
    return 'unreadable';
  }
  if (!('job' in data)) {
    return data.mentions ? 'alone' : 'no';
  }
  const rest = withoutNumber(data.job, number);
  if (rest === 'absent') return 'no';
  return rest === 'nothing' ? 'alone' : 'shared';
}

/** The ids in one of BullMQ's lists or sorted sets, page by page. An id may come twice. */
async function* idsIn(
  redis: RedisClient,
  key: string,
  isList: boolean,
): AsyncGenerator<readonly string[]> {
  if (isList) {
    // New jobs are added at the start of a list: what is behind moves back, and is read again.
    for (let from = 0; ; from += PAGE) {
      const ids = await redis.lrange(key, from, from + PAGE - 1);
      yield ids;
      if (ids.length < PAGE) return;
    }
  }
  yield* scanned((cursor) => redis.zscan(key, cursor, 'COUNT', PAGE));
}

/** The names that a scan finds: each is followed by its value. */
async function* scanned(
  scan: (cursor: string) => Promise<[string, string[]]>,
): AsyncGenerator<readonly string[]> {
  let cursor = '0';
  do {
    const [next, found] = await scan(cursor);
    yield found.filter((_, index) => index % 2 === 0);
    cursor = next;
  } while (cursor !== '0');
}

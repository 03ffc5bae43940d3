import { hashNumber, type FindKey } from './number-key.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import type { JobData } from '../contracts/job.ts';

/**
 * The index for finding single notices by phone number. An entry is a member of a sorted set with score 0,
 * so that the entries of one number are adjacent:
 *
 * | bytes | what |
 * |---|---|
 * | 6 | of the number's hash |
 * | 4 | when it was queued, in seconds since the epoch, by the producer's clock |
 * | 1 | 1 when the job has a deadline, else 0 |
 * | rest | id of the job |
 *
 * There is one set for each day and each of 65,536 buckets (two further bytes of the hash), so that sets
 * stay small, which Redis stores compactly, and expire as a whole.
 */
const BUCKET_AT = 4;
const NAME_AT = 6;
const NAME_BYTES = 6;
const HEAD_BYTES = NAME_BYTES + 5;
const DAY_MS = 24 * 3_600_000;

/** An entry as it is stored: its set and member. */
interface WrittenEntry {
  readonly jobId: string;
  readonly set: string;
  readonly member: Buffer;
}

/** What it says of the job of a notice. */
export interface FindEntry extends WrittenEntry {
  /** When it was queued: milliseconds since the epoch, to the second. */
  readonly at: number;
  /** The job has a deadline. */
  readonly expires: boolean;
}

export function entriesOf(
  keys: Keys,
  key: FindKey,
  jobs: readonly { readonly data: JobData; readonly opts: { readonly jobId: string } }[],
  now: number,
): WrittenEntry[] {
  return jobs.flatMap(({ data, opts: { jobId } }) =>
    data.notice.contacts.map(({ contact }) => {
      const hash = hashNumber(key, contact);
      const head = Buffer.alloc(HEAD_BYTES);
      hash.copy(head, 0, NAME_AT, NAME_AT + NAME_BYTES);
      head.writeUInt32BE(Math.floor(now / 1_000), NAME_BYTES);
      head.writeUInt8(data.expiresAt === undefined ? 0 : 1, HEAD_BYTES - 1);
      const set = keys.find(dayOf(now), bucketOf(hash));
      return { jobId, set, member: Buffer.concat([head, Buffer.from(jobId)]) };
    }),
  );
}

/** Writes entries, in one round trip. @param keepMs KEEP_FAILED_MS */
export async function writeEntries(
  redis: RedisClient,
  entries: readonly WrittenEntry[],
  keepMs: number,
): Promise<void> {
  // A day's set takes entries until the day ends.
  const ms = keepMs + DAY_MS;
  await Promise.all(
    entries.flatMap(({ set, member }) => [redis.zadd(set, 0, member), redis.pexpire(set, ms)]),
  );
}

/**
 * Removes entries: of jobs that the queue did not accept, and of a number that is erased.
 *
 * @returns how many there were
 */
export async function removeEntries(
  redis: RedisClient,
  entries: readonly WrittenEntry[],
): Promise<number> {
  const removed = await Promise.all(entries.map(({ set, member }) => redis.zrem(set, member)));
  return removed.reduce((sum, count) => sum + count, 0);
}

/** The jobs of single notices that contain a number, newest first. */
export async function findEntries(
  redis: RedisClient,
  keys: Keys,
  hash: Buffer,
  keepMs: number,
  now: number,
): Promise<FindEntry[]> {
  const stored = await storedEntries(redis, keys, hash, keepMs, now);
  const entries = stored.filter(({ at }) => at + 1_000 > now - keepMs).sort((a, b) => b.at - a.at);
  // A repeated call of a notice wrote its entry again: the oldest is of the call that queued it.
  return [...new Map(entries.map((entry) => [entry.jobId, entry])).values()].sort(
    (a, b) => b.at - a.at,
  );
}

/**
 * All entries of a number, as they are stored; also those that are over their time and are not found any more. One command
 * per day of the retention.
 */
export async function storedEntries(
  redis: RedisClient,
  keys: Keys,
  hash: Buffer,
  keepMs: number,
  now: number,
): Promise<FindEntry[]> {
  const number = hash.subarray(NAME_AT, NAME_AT + NAME_BYTES);
  const from = Buffer.concat([Buffer.from('['), number]);
  // No time starts with this byte before the year 2105.
  const to = Buffer.concat([Buffer.from('('), number, Buffer.of(0xff)]);
  const sets: string[] = [];
  // Sets are kept for a day longer than their entries are found, and a producer's clock may be ahead of ours.
  for (let day = dayOf(now - keepMs - DAY_MS); day <= dayOf(now + DAY_MS); day++) {
    sets.push(keys.find(day, bucketOf(hash)));
  }
  const found = await Promise.all(
    sets.map(async (set) => {
      const members = await redis.zrangebylexBuffer(set, from, to);
      return members.map((member) => ({
        set,
        member,
        jobId: member.subarray(HEAD_BYTES).toString(),
        at: member.readUInt32BE(NAME_BYTES) * 1_000,
        expires: member[HEAD_BYTES - 1] === 1,
      }));
    }),
  );
  return found.flat();
}

const bucketOf = (hash: Buffer) => hash.toString('hex', BUCKET_AT, NAME_AT);
const dayOf = (at: number) => Math.floor(at / DAY_MS);

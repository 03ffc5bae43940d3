import { randomUUID } from 'node:crypto';
import type { LaneName } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/**
 * Contacts that were sent again although the service may have accepted an earlier request, by lane. At most
 * so many acceptances are duplicates. A contact counts once per such request. Those of chunks are counted by the ledger.
 */
export type PossiblySentTwice = Readonly<Record<LaneName, number>>;

/** Adds to the count. KEYS: the counts; then a mark, which is removed, and without which nothing is added. ARGV: contacts. */
export const addTwice = defineScript({
  name: 'count possibly sent twice',
  lua: `
alsoWhenFull()
if KEYS[2] and redis.call('DEL', KEYS[2]) == 0 then return end
redis.call('HINCRBY', KEYS[1], 'noticesTwice', ARGV[1])`,
});

/** The count of contacts of single notices, as an attempt uses it. */
export function sentTwiceCounts(redis: RedisClient, keys: Keys) {
  return {
    /**
     * Counts contacts right before they are sent again, so that a worker that dies in between leaves no
     * duplicate uncounted. A lost reply may count them twice.
     */
    countTwice: async (contacts: number) => {
      await translated(addTwice(redis, [keys.counts], [contacts]));
    },
    /**
     * Takes that back where the service provably accepted nothing; once, also where a reply is lost and the connection
     * repeats the command. They stay counted where the mark is over meanwhile: the count is never too low.
     */
    uncountTwice: async (contacts: number) => {
      const mark = keys.done(randomUUID());
      // Answered before it is used, so that a repetition cannot make the mark anew.
      await translated(redis.set(mark, '1', 'PX', DONE_MS));
      await translated(addTwice(redis, [keys.counts, mark], [-contacts]));
    },
  };
}

export async function readPossiblySentTwice(
  redis: RedisClient,
  keys: Keys,
): Promise<PossiblySentTwice> {
  const counts = await redis.hmget(keys.counts, 'noticesTwice', 'chunksTwice');
  const [notices, chunks] = counts.map((count) => Math.max(0, Number(count ?? 0)));
  return { notices: notices ?? 0, chunks: chunks ?? 0 };
}

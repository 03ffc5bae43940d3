import { randomUUID } from 'node:crypto';
import { LANES, type LaneName } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/**
 * Contacts that were sent again although the service may have accepted an earlier request, by lane. At most
 * so many acceptances are duplicates. A contact counts once per such request. Those of chunks are counted by the ledger.
 */
export type PossiblySentTwice = Readonly<Record<LaneName, number>>;

/** KEYS: the counts. ARGV: the contacts. */
const count = defineScript({
  name: 'count possibly sent twice',
  keys: 1,
  lua: `
alsoWhenFull()
redis.call('HINCRBY', KEYS[1], 'notices', ARGV[1])`,
});

/** Takes a count back if the mark exists, which it removes. KEYS: the counts, the mark. ARGV: the contacts. */
export const takeBackCount = defineScript({
  name: 'take back possibly sent twice',
  keys: 2,
  lua: `
if redis.call('DEL', KEYS[2]) == 1 then redis.call('HINCRBY', KEYS[1], 'notices', -ARGV[1]) end`,
});

/** The count of contacts of single notices, as an attempt uses it. */
export function sentTwiceCounts(redis: RedisClient, keys: Keys) {
  const { possiblySentTwice } = keys;
  return {
    /**
     * Counts contacts right before they are sent again, so that a worker that dies in between leaves no
     * duplicate uncounted. A lost reply may count them twice.
     */
    countTwice: async (contacts: number) => {
      await translated(count(redis, [possiblySentTwice], [contacts]));
    },
    /**
     * Takes that back where the service provably accepted nothing; once, also where a reply is lost and the connection
     * repeats the command. They stay counted where the mark is over meanwhile: the count is never too low.
     */
    uncountTwice: async (contacts: number) => {
      const mark = keys.done(randomUUID());
      // Answered before it is used, so that a repetition cannot make the mark anew.
      await translated(redis.set(mark, '1', 'PX', DONE_MS));
      await translated(takeBackCount(redis, [possiblySentTwice, mark], [contacts]));
    },
  };
}

export async function readPossiblySentTwice(
  redis: RedisClient,
  keys: Keys,
): Promise<PossiblySentTwice> {
  const counts = await redis.hmget(keys.possiblySentTwice, ...LANES);
  const [notices, chunks] = counts.map((count) => Math.max(0, Number(count ?? 0)));
  return { notices: notices ?? 0, chunks: chunks ?? 0 };
}

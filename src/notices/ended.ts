import { z } from 'zod';
import { unknownAttempt } from '../contracts/answer.ts';
import { END_STATES, newestTraceIds } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { storedJson } from '../redis/stored-json.ts';

/*
 * The record of single notices that were not accepted: an entry in one hash for each, by the id of the notice, and its
 * place in a sorted set of its state. The worker writes it right before BullMQ removes the job, in the same script as
 * the event; a cancellation writes it in place of the job. An accepted notice has no entry, unless a person decided that
 * it was accepted. It has the fields of a failure of a batch (src/batch/ledger), and the data of the job.
 */

/** The state of an entry. `accepted`: by the decision of a person about an unknown one. */
export type EndedState = (typeof END_STATES)[number];

/** The last known stage of an attempt of an unknown notice. */
export const STAGES = ['started', 'sent', 'answered', 'accepted'] as const;

/** An entry as it is stored. Times are milliseconds since the epoch. */
export const endedEntry = z.object({
  /** When it ended, by the clock of Redis. */
  at: z.number(),
  state: z.enum(END_STATES),
  code: z.string(),
  /** Status and message of the service, with phone numbers masked. */
  message: z.string().exactOptional(),
  /** Empty where its data cannot be read. */
  template: z.string(),
  /** Without those that were left out. */
  contacts: z.number(),
  /** Left out of the last request, because they are on the do-not-send list. */
  suppressed: z.number().exactOptional(),
  /** Attempts that were counted, in its last run. */
  attempts: z.number(),
  /** How many attempts, in all runs, the service may have accepted. */
  possiblySent: z.number(),
  /** The service's trace ids for those of them that it answered, oldest first. */
  traceIds: z.array(z.string()).exactOptional(),
  /** Those before the last attempt of its last run that ended unknown, oldest first. */
  unknownAttempts: z.array(unknownAttempt).exactOptional(),
  /**
   * Of an unknown one: its last attempt was `started` (nothing more is known), the request was `sent`, it was `answered`, or
   * `accepted` when the answer arrived after the end was recorded.
   */
  stage: z.enum(STAGES).exactOptional(),
  /** Of its intent: a run that is answered later than its end names it. */
  nonce: z.string().exactOptional(),
  delivery: z.literal('at-most-once').exactOptional(),
  enqueuedAt: z.number().exactOptional(),
  startedAt: z.number().exactOptional(),
  expiresAt: z.number().exactOptional(),
  priority: z.number().exactOptional(),
  /** The hash of its idempotency key. */
  key: z.string().exactOptional(),
  /** The data of its job; deleted where a person has decided. */
  data: z.string().exactOptional(),
});

export type EndedEntry = z.output<typeof endedEntry>;

/** An entry, with its id and its text as Redis has it. */
export interface EndedNotice extends EndedEntry {
  readonly id: string;
  readonly text: string;
}

/** Entries per read; ids per read: Redis does nothing else meanwhile. */
const PAGE = 500;
const IDS_PER_READ = 10_000;

/** Reads an entry; undefined where it is none. */
export function parseEnded(id: string, text: string | null | undefined): EndedNotice | undefined {
  const read = storedJson(endedEntry, text);
  return read && { ...read, id, text: text ?? '' };
}

/** Those of the ids that have an entry, in their order. One that is being put back into the queue is left out. */
export async function readEnded(
  redis: RedisClient,
  { ended, endedIn }: Keys,
  ids: readonly string[],
): Promise<EndedNotice[]> {
  const found: EndedNotice[] = [];
  for (let from = 0; from < ids.length; from += PAGE) {
    const some = ids.slice(from, from + PAGE);
    const [texts, again] = await Promise.all([
      redis.hmget(ended, ...some),
      redis.zmscore(endedIn('again'), ...some),
    ]);
    for (const [index, id] of some.entries()) {
      const entry = parseEnded(id, texts[index]);
      if (entry !== undefined && typeof again[index] !== 'string') found.push(entry);
    }
  }
  return found;
}

/** Which ids are read of a state: what ended before and since then, and how many at most. Default: all, the newest first */
export interface EndedRange {
  readonly before?: number | undefined;
  readonly since?: number | undefined;
  readonly most?: number | undefined;
  readonly oldestFirst?: boolean | undefined;
}

/** Ids of entries in these states, the newest first. What ends meanwhile is not among them. */
export async function endedIds(
  redis: RedisClient,
  { endedIn }: Keys,
  states: readonly EndedState[],
  { before = Infinity, since = 0, most = Infinity, oldestFirst = false }: EndedRange = {},
): Promise<string[]> {
  // What is no number is refused by Redis: it may not select all.
  const newest = before === Infinity ? '+inf' : `(${before}`;
  const idsIn = async (state: EndedState) => {
    const found: { readonly id: string; readonly at: number }[] = [];
    let [from, to, offset] = oldestFirst ? [String(since), newest, 0] : [newest, String(since), 0];
    for (let isWhole = false; !isWhole && found.length < most;) {
      const count = Math.min(IDS_PER_READ, most - found.length);
      const args = [endedIn(state), from, to, 'WITHSCORES', 'LIMIT', offset, count] as const;
      const flat = await (oldestFirst
        ? redis.zrangebyscore(...args)
        : redis.zrevrangebyscore(...args));
      for (let at = 0; at < flat.length; at += 2) {
        found.push({ id: flat[at] ?? '', at: Number(flat[at + 1]) });
      }
      isWhole = flat.length < 2 * count;
      // The next read goes on behind those of the last time.
      const last = found.at(-1)?.at;
      from = String(last);
      offset = found.length - 1 - found.findLastIndex(({ at }) => at !== last);
    }
    return found;
  };
  const found = (await Promise.all(states.map(idsIn))).flat();
  if (states.length > 1) found.sort((a, b) => (oldestFirst ? a.at - b.at : b.at - a.at));
  return found.slice(0, most).map(({ id }) => id);
}

/** Yields the entries in these states, in pages. */
export async function* endedNotices(
  redis: RedisClient,
  keys: Keys,
  states: readonly EndedState[],
  range: EndedRange = {},
): AsyncGenerator<readonly EndedNotice[]> {
  const ids = await endedIds(redis, keys, states, range);
  for (let from = 0; from < ids.length; from += PAGE) {
    const some = await readEnded(redis, keys, ids.slice(from, from + PAGE));
    yield some.filter(({ state }) => states.includes(state));
  }
}

export async function countEnded(
  redis: RedisClient,
  { endedIn }: Keys,
  states: readonly EndedState[],
): Promise<number> {
  const counts = await Promise.all(states.map((state) => redis.zcard(endedIn(state))));
  return counts.reduce((sum, one) => sum + one, 0);
}

/** The text of an entry. Lua, which changes some, cannot tell an empty list from an object. */
export function endedText({ traceIds = [], ...entry }: Partial<EndedEntry>): string {
  const ids = traceIds.length === 0 ? {} : { traceIds: newestTraceIds(traceIds) };
  return JSON.stringify({ ...entry, ...ids });
}

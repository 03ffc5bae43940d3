import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/**
 * The fingerprints of a chunk of a list: the rows of its contacts as text, a line break, then the first four bytes of the
 * hash of each of their numbers, in the same order. They are stored in one field of the batch's find hash, named by the
 * chunk's number, and are kept longer than the contacts. A place among them leads to the row, and the results of the list
 * tell what became of it.
 */
const FINGERPRINT_BYTES = 4;

/** The fingerprints as they are stored. @param hashes of a chunk's numbers @param rows of these, as text */
export function encodeFingerprints(hashes: readonly Buffer[], rows: string): Buffer {
  const prints = hashes.map((hash) => hash.subarray(0, FINGERPRINT_BYTES));
  return Buffer.concat([Buffer.from(`${rows}\n`), ...prints]);
}

export interface FingerprintHit {
  readonly chunk: number;
  /** Which of the contacts that the chunk had when it was stored: 0 for the first. */
  readonly place: number;
  /** The rows of all of them, as text. */
  readonly rows: string;
}

/** Chunks per run of the script: about a millisecond of the server's time with full chunks of usual size. */
const CHUNKS_AT_ONCE = 200;

/**
 * KEYS: the batch's find hash. ARGV: first chunk, the one after the last, the fingerprint, and `erase` to replace it by
 * zeros. Answers the number of contacts and of chunks without fingerprints, then chunk, place and rows of each hit.
 */
const searchScript = defineScript({
  name: 'search fingerprints',
  parse: (reply: unknown) => reply as readonly [number, number, readonly (string | number)[]],
  lua: `
local width, wanted = ${FINGERPRINT_BYTES}, ARGV[3]
local contacts, unindexed, found = 0, 0, {}
for chunk = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local prints = redis.call('HGET', KEYS[1], chunk)
  local head = prints and string.find(prints, '\\n', 1, true)
  if not head then
    unindexed = unindexed + 1
  else
    contacts = contacts + (#prints - head) / width
    local at, erased = string.find(prints, wanted, head + 1, true), prints
    while at do
      local place = (at - head - 1) / width
      if place % 1 == 0 then
        for _, one in ipairs({ chunk, place, string.sub(prints, 1, head - 1) }) do found[#found + 1] = one end
        erased = string.sub(erased, 1, at - 1) .. string.rep('\\0', width) .. string.sub(erased, at + width)
      end
      at = string.find(prints, wanted, at + 1, true)
    end
    if ARGV[4] == 'erase' and erased ~= prints then redis.call('HSET', KEYS[1], chunk, erased) end
  end
end
return { contacts, unindexed, found }`,
});

/**
 * Searches a batch's chunks for a number: one round trip per {@link CHUNKS_AT_ONCE} chunks, and no contact
 * leaves Redis.
 *
 * @param key the batch's find hash
 * @param erase whether the fingerprint is removed where it is found
 * @returns the hits, how many contacts were searched, and chunks that were stored while the index was off or are over
 *   its retention
 */
export async function searchChunks(
  redis: RedisClient,
  key: string,
  chunks: number,
  hash: Buffer,
  erase = false,
) {
  const hits: FingerprintHit[] = [];
  let [contacts, unindexed] = [0, 0];
  for (let first = 0; first < chunks; first += CHUNKS_AT_ONCE) {
    const end = Math.min(chunks, first + CHUNKS_AT_ONCE);
    const args = [first, end, hash.subarray(0, FINGERPRINT_BYTES), erase ? 'erase' : ''];
    const [seen, missing, found] = await searchScript(redis, [key], args);
    contacts += seen;
    unindexed += missing;
    for (let at = 0; at < found.length; at += 3) {
      const [chunk, place, rows] = found.slice(at, at + 3);
      hits.push({ chunk: Number(chunk), place: Number(place), rows: String(rows) });
    }
  }
  return { hits, contacts, unindexed };
}

import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/**
 * The fingerprints of a chunk: the first four bytes of the hash of each of its numbers, sorted for binary
 * search. They are stored in one field of the batch's find hash, named by the chunk's number, and are kept
 * longer than the contacts.
 *
 * The hash also has `><failure>` fields, which record what became of a failed chunk: the number of the
 * chunk that it was redriven to, or `accepted <size>` or `cancelled <size>` when a person decided. A chunk
 * made by a redrive or split off another has an empty field: the fingerprints of its contacts are those of their first chunk.
 */
export const FINGERPRINT_BYTES = 4;

/** Probability, per searched contact, that the fingerprint of a number matches another number. */
export const FALSE_POSITIVE_RATE = 1 / 2 ** (8 * FINGERPRINT_BYTES);

/** The fingerprints as they are stored. @param hashes of a chunk's numbers */
export function encodeFingerprints(hashes: readonly Buffer[]): Buffer {
  const sorted = Uint32Array.from(hashes, (hash) => hash.readUInt32BE(0)).sort();
  const fingerprints = Buffer.allocUnsafe(sorted.length * FINGERPRINT_BYTES);
  for (const [index, fingerprint] of sorted.entries())
    fingerprints.writeUInt32BE(fingerprint, index * FINGERPRINT_BYTES);
  return fingerprints;
}

/** A chunk that contains a fingerprint. */
export interface FingerprintHit {
  readonly chunk: number;
  /** Contacts that the chunk had when it was stored. */
  readonly size: number;
}

/** The result of a search. */
export interface FingerprintSearch {
  readonly hits: readonly FingerprintHit[];
  /** Number of searched contacts. */
  readonly contacts: number;
  /** Chunks without fingerprints: stored while the index was off, or after its retention. */
  readonly unindexed: number;
}

/** Chunks per run of the script: about a millisecond of the server's time with full chunks of usual size. */
const CHUNKS_AT_ONCE = 200;

/**
 * KEYS: the batch's find hash. ARGV: first chunk, the one after the last, the fingerprint as a number.
 * Answers the number of contacts and of chunks without fingerprints, then chunk and size of each hit.
 */
const searchScript = defineScript({
  name: 'search fingerprints',
  keys: 1,
  parse: (reply: unknown) => (reply as readonly unknown[]).map(Number),
  lua: `
local first, last, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1, tonumber(ARGV[3])
local contacts, unindexed, found = 0, 0, {}
for chunk = first, last do
  local fingerprints = redis.call('HGET', KEYS[1], chunk)
  if not fingerprints then
    unindexed = unindexed + 1
  else
    local from, to = 1, #fingerprints / ${FINGERPRINT_BYTES}
    contacts = contacts + to
    while from <= to do
      local middle = math.floor((from + to) / 2)
      local a, b, c, d = string.byte(fingerprints, middle * ${FINGERPRINT_BYTES} - 3, middle * ${FINGERPRINT_BYTES})
      local fingerprint = ((a * 256 + b) * 256 + c) * 256 + d
      if fingerprint == wanted then
        found[#found + 1] = chunk
        found[#found + 1] = #fingerprints / ${FINGERPRINT_BYTES}
        break
      elseif fingerprint < wanted then
        from = middle + 1
      else
        to = middle - 1
      end
    end
  end
end
return { contacts, unindexed, unpack(found) }`,
});

/**
 * Searches a batch's chunks for a number: one round trip per {@link CHUNKS_AT_ONCE} chunks, and no contact
 * leaves Redis.
 *
 * @param key the batch's find hash
 */
export async function searchChunks(
  redis: RedisClient,
  key: string,
  chunks: number,
  hash: Buffer,
): Promise<FingerprintSearch> {
  const hits: FingerprintHit[] = [];
  let [contacts, unindexed] = [0, 0];
  for (let first = 0; first < chunks; first += CHUNKS_AT_ONCE) {
    const end = Math.min(chunks, first + CHUNKS_AT_ONCE);
    const [seen = 0, missing = 0, ...found] = await searchScript(
      redis,
      [key],
      [first, end, hash.readUInt32BE(0)],
    );
    contacts += seen;
    unindexed += missing;
    for (let at = 0; at + 1 < found.length; at += 2) {
      hits.push({ chunk: found[at] ?? 0, size: found[at + 1] ?? 0 });
    }
  }
  return { hits, contacts, unindexed };
}

/**
 * Replaces a fingerprint in chunks by that of their nearest contact, or by zeros if there is no other, so that the
 * numbers of contacts stay right. KEYS: the batch's find hash. ARGV: the fingerprint, the chunks. Answers in how
 * many chunks it was.
 */
const eraseScript = defineScript({
  name: 'erase fingerprints',
  keys: 1,
  parse: Number,
  lua: `
local wanted, width, erased = ARGV[1], ${FINGERPRINT_BYTES}, 0
for index = 2, #ARGV do
  local prints = redis.call('HGET', KEYS[1], ARGV[index]) or ''
  local from = 1
  repeat
    from = string.find(prints, wanted, from, true)
    if from and (from - 1) % width == 0 then break end
    if from then from = from + 1 end
  until not from
  if from then
    local to = from + width
    while string.sub(prints, to, to + width - 1) == wanted do to = to + width end
    local other = string.sub(prints, from - width, from - 1)
    if from == 1 then other = string.sub(prints, to, to + width - 1) end
    if other == '' then other = string.rep('\\0', width) end
    prints = string.sub(prints, 1, from - 1) .. string.rep(other, (to - from) / width) .. string.sub(prints, to)
    redis.call('HSET', KEYS[1], ARGV[index], prints)
    erased = erased + 1
  end
end
return erased`,
});

/**
 * Removes the fingerprint of a number from a batch's chunks.
 *
 * @param key the batch's find hash
 * @returns the number of chunks that had it
 */
export async function eraseFingerprints(
  redis: RedisClient,
  key: string,
  hits: readonly Pick<FingerprintHit, 'chunk'>[],
  hash: Buffer,
): Promise<number> {
  let erased = 0;
  for (let from = 0; from < hits.length; from += CHUNKS_AT_ONCE) {
    const chunks = hits.slice(from, from + CHUNKS_AT_ONCE).map(({ chunk }) => chunk);
    erased += await eraseScript(redis, [key], [hash.subarray(0, FINGERPRINT_BYTES), ...chunks]);
  }
  return erased;
}

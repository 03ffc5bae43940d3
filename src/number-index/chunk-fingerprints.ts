import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/**
 * The prints of a chunk: the first four bytes of the hash of each of its numbers, sorted, so that one
 * can be looked up without reading the others. They stand in one field of the batch's find hash,
 * under the chunk's number, and outlive the contacts themselves.
 *
 * Beside them stand `><failure>` fields, which lead from a failure of a chunk to what became of it:
 * the number of the chunk it was redriven to, or `accepted <size>` or `cancelled <size>` where a
 * person decided. A chunk made by a redrive has an empty field: its contacts' prints are those of the
 * chunk they stood in first.
 */
export const FINGERPRINT_BYTES = 4;

/** Chances that the print of a number stands for another one, for each contact that is looked through. */
export const FALSE_POSITIVE_RATE = 1 / 2 ** (8 * FINGERPRINT_BYTES);

/** @param hashes of a chunk's numbers */
export function encodeFingerprints(hashes: readonly Buffer[]): Buffer {
  const sorted = Uint32Array.from(hashes, (hash) => hash.readUInt32BE(0)).sort();
  const prints = Buffer.allocUnsafe(sorted.length * FINGERPRINT_BYTES);
  for (const [index, print] of sorted.entries())
    prints.writeUInt32BE(print, index * FINGERPRINT_BYTES);
  return prints;
}

/** A chunk in which a print stands. */
export interface FingerprintHit {
  readonly chunk: number;
  /** Contacts that the chunk had when it was stored. */
  readonly size: number;
}

/** What a look through some chunks found. */
export interface FingerprintSearch {
  readonly hits: readonly FingerprintHit[];
  /** Contacts that were looked through. */
  readonly contacts: number;
  /** Chunks without prints: stored while the index was off, or its retention has ended. */
  readonly unindexed: number;
}

/**
 * Chunks that one run of the script looks through: a millisecond or so of the server's time with full
 * chunks of usual size.
 */
const CHUNKS_AT_ONCE = 200;

/**
 * KEYS: the batch's find hash. ARGV: first chunk, the one after the last, the print as a number.
 * Answers contacts looked through, chunks without prints, then chunk and size of each hit in turn.
 */
const searchPrints = defineScript({
  name: 'search prints',
  keys: 1,
  parse: (reply: unknown) => (reply as readonly unknown[]).map(Number),
  lua: `
local first, last, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1, tonumber(ARGV[3])
local contacts, unindexed, found = 0, 0, {}
for chunk = first, last do
  local prints = redis.call('HGET', KEYS[1], chunk)
  if not prints then
    unindexed = unindexed + 1
  else
    local from, to = 1, #prints / ${FINGERPRINT_BYTES}
    contacts = contacts + to
    while from <= to do
      local middle = math.floor((from + to) / 2)
      local a, b, c, d = string.byte(prints, middle * ${FINGERPRINT_BYTES} - 3, middle * ${FINGERPRINT_BYTES})
      local print = ((a * 256 + b) * 256 + c) * 256 + d
      if print == wanted then
        found[#found + 1] = chunk
        found[#found + 1] = #prints / ${FINGERPRINT_BYTES}
        break
      elseif print < wanted then
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
 * Looks for a number in a batch's chunks: one round trip for each {@link CHUNKS_AT_ONCE} of them, and
 * no contact leaves Redis.
 *
 * @param key the batch's find hash
 * @throws ScriptFailure
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
    const [seen = 0, missing = 0, ...found] = await searchPrints(
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

import type { Redis } from 'ioredis';
import type { BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { encodeContacts, noteOrigins, originsText } from '../../../src/payload/chunk-payload.ts';
import { allAccepted, type Settlement } from '../../../src/batch/ledger/settlement.ts';
import type { Contact } from '../../../src/contracts/notice.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { PLAN as BENCH_PLAN } from './batch-bench.ts';

type Failed = Omit<Extract<Settlement, { kind: 'failed' }>, 'kind'>;
type FailedPart = Failed & { readonly size: number; readonly payload?: Buffer };

interface Parts {
  readonly accepted: number;
  readonly failed: readonly FailedPart[];
}

const PLAN: BatchPlan = { ...BENCH_PLAN, frame: '{"templateCode":"T"}', templateCode: 'T' };

/** Numbers that do not exist. */
export function contacts(count: number, from = 0): Contact[] {
  return Array.from({ length: count }, (_, index) => ({
    contact: `0100${String(from + index).padStart(7, '0')}`,
    var1: `value ${from + index}`,
  }));
}

/**
 * Stores a batch, its import ended by default, whose sends the test itself makes up: `claim` and `settle` do what a worker
 * does, the latter also for parts of a chunk, which is cut into them.
 *
 * @param chunks the contacts of each chunk
 */
export async function buildBatch(
  redis: Redis,
  prefix: string,
  id: string,
  chunks: readonly (readonly Contact[])[],
  options: { readonly plan?: Partial<BatchPlan>; readonly importing?: boolean } = {},
) {
  const keys = keysOf(prefix, 'default');
  const ledger = new Ledger(redis, keys);
  const plan = { ...PLAN, chunkSize: chunks[0]?.length ?? 10, ...options.plan };
  await ledger.start(id, plan, 'fingerprint', 3_600_000);
  let rows = 0;
  const stores: Promise<unknown>[] = [];
  for (const [index, chunk] of chunks.entries()) {
    noteOrigins(chunk, originsText(`${rows + 2}-${rows + chunk.length + 1}`));
    rows += chunk.length;
    const payload = await encodeContacts(chunk);
    stores.push(ledger.store(id, { chunk: index, size: chunk.length, rows, payload }));
    // Once Redis has the script, the others are stored in their order.
    if (index === 0) await stores[0];
  }
  await Promise.all(stores);
  if (options.importing !== true) {
    const [refused, duplicate] = [`${rows + 2}-${rows + 3}`, `${rows + 4}-${rows + 6}`];
    await ledger.endImport(id, 2, 3, undefined, { refused, duplicate });
  }

  const claimed = new Map<number, string>();
  const claim = async (chunk: number) => {
    const nonce = `nonce-${claimed.size}`;
    const lock = { key: keys.chunkLock(`c-${id}-${chunk}`), token: 'worker' };
    await redis.set(lock.key, lock.token);
    const { kind } = await ledger.claim(id, chunk, nonce, lock);
    await redis.del(lock.key);
    if (kind !== 'send') throw new Error(`the claim of chunk ${chunk} answered ${kind}`);
    claimed.set(chunk, nonce);
  };
  const read = async () => {
    const batch = await ledger.read(id);
    if (batch === undefined) throw new Error(`there is no batch ${id}`);
    return batch;
  };
  const settle = async (chunk: number, settlement: Settlement | Parts): Promise<void> => {
    if ('failed' in settlement) return settleParts(chunk, settlement);
    if (!claimed.has(chunk)) await claim(chunk);
    await ledger.settle(id, chunk, claimed.get(chunk) ?? '', settlement);
    claimed.delete(chunk);
  };
  const settleParts = async (chunk: number, { accepted, failed }: Parts) => {
    const [first, ...others] = failed;
    if (first === undefined) return settle(chunk, allAccepted());
    const { size, payload, ...result } = first;
    const left = accepted + others.reduce((sum, part) => sum + part.size, 0);
    if (left === 0) return settle(chunk, { kind: 'failed', ...result });
    if (payload === undefined) throw new Error('a part needs its own contacts');
    if (!claimed.has(chunk)) await claim(chunk);
    const { chunks: cut } = await read();
    // Of what is cut once more the first part's will do.
    const rest = others[0]?.payload ?? (await encodeContacts(contacts(left)));
    await ledger.halve(id, chunk, claimed.get(chunk) ?? '', size, [payload, rest]);
    await settle(cut, { kind: 'failed', ...result });
    await settleParts(cut + 1, { accepted, failed: others });
  };
  return { id, ledger, read, claim, settle };
}

/** A part of a chunk that failed, with its contacts. */
export async function part(
  state: Failed['state'],
  code: string,
  list: readonly Contact[],
): Promise<FailedPart> {
  const payload = await encodeContacts(list);
  return { state, code, message: `about ${code}`, size: list.length, payload };
}

import { expect } from 'vitest';
import type { Batch, BatchCounts, BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import type { ChunkState } from '../../../src/batch/ledger/settlement.ts';
import type { Claim } from '../../../src/batch/ledger/settlement.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import type { Settlement } from '../../../src/batch/ledger/settlement.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import type { TestRedis } from '../../support/redis.ts';

export const RETENTION_MS = 3_600_000;

export const PLAN: BatchPlan = {
  frame: '{"templateCode":"SALE","scheduleType":"DIRECTLY"}',
  templateCode: 'SALE',
  chunkSize: 10,
  delivery: 'at-least-once',
  expiresAt: 0,
  rate: 0,
  bisect: true,
};

export const AT_MOST_ONCE = { delivery: 'at-most-once' } as const;

/** Name of the lock that a test's attempts own. */
const LOCK = { key: 'job-1:lock', token: 'worker-1' };

/** One account with one batch in its own namespace, for tests of the ledger. */
export interface BatchBench {
  readonly ledger: Ledger;
  readonly keys: Keys;
  readonly id: string;
  /** Stores the next chunk; its payload names it. */
  store(size?: number): Promise<string>;
  /** Claims as the owner of the job. */
  claim(chunk: number, nonce?: string): Promise<Claim>;
  claimKind(chunk: number, nonce?: string): Promise<string>;
  /** Gives jobs to chunks that need one, as queueChunks does; their numbers. */
  queue(limit?: number): Promise<readonly number[] | undefined>;
  settle(chunk: number, settlement: Settlement, nonce?: string): Promise<string>;
  batch(): Promise<Batch>;
  /** Counts that are not zero; also checks that the states add up to the total. */
  counts(): Promise<Partial<BatchCounts>>;
  state(chunk: number): Promise<ChunkState | undefined>;
  failures(): Promise<FailureRecord[]>;
  payload(name: string | number): Promise<string | undefined>;
  /** Events so far, each with its fields. */
  events(): Promise<Record<string, string>[]>;
  /** Moves the batch's clocks: the record's own fields, as Redis holds them. */
  setField(name: string, value: string | number): Promise<void>;
}

export const payloadOf = (chunk: number) => Buffer.from(`contacts of chunk ${chunk}`);

/**
 * Starts a batch with chunks of these sizes.
 *
 * @param imported whether its import has ended, too. Default true
 */
export async function openBatch(
  redis: TestRedis,
  plan: Partial<BatchPlan> = {},
  sizes: readonly number[] = [],
  imported = true,
): Promise<BatchBench> {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const id = 'b-1';
  const ledger = new Ledger(redis.client, keys);
  const lock = { key: `${keys.bullPrefix}:${LOCK.key}`, token: LOCK.token };
  const { record } = keys.batch(id);
  await redis.client.set(lock.key, lock.token);

  const bench: BatchBench = {
    ledger,
    keys,
    id,
    store: async (size = PLAN.chunkSize) => {
      const { chunksOfList: chunk, chunks, rows } = await bench.batch();
      return ledger.store(id, {
        chunk,
        size,
        rows: rows + size,
        payload: payloadOf(chunks),
      });
    },
    claim: (chunk, nonce = 'a') => ledger.claim(id, chunk, nonce, lock),
    claimKind: async (chunk, nonce) => (await bench.claim(chunk, nonce)).kind,
    queue: async (limit = 100) => {
      const next = await ledger.chunksWithoutJob(id, limit, 0);
      if (next === undefined) return undefined;
      await ledger.chunksWithoutJob(id, 0, 0, next);
      return next.chunks.map(({ chunk }) => chunk);
    },
    settle: (chunk, settlement, nonce = 'a') => ledger.settle(id, chunk, nonce, settlement),
    batch: async () => {
      const batch = await ledger.read(id);
      if (batch === undefined) throw new Error('there is no batch');
      return batch;
    },
    counts: async () => {
      const { counts } = await bench.batch();
      const { total, pending, sending, accepted, rejected, unknown, expired, cancelled } = counts;
      expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
      expect(sending).toBeLessThanOrEqual(pending);
      expect(await ledger.unsent()).toBe(pending);
      expect(await ledger.unknownContacts()).toBe(unknown);
      const shown = Object.entries(counts).filter(([name, n]) => n !== 0 && name !== 'total');
      return Object.fromEntries(shown);
    },
    state: async (chunk) => (await ledger.states(id, chunk, chunk + 1))[0],
    failures: async () => {
      const failures: FailureRecord[] = [];
      for await (const failure of ledger.failures(id)) failures.push(failure);
      return failures.sort((a, b) => a.name.localeCompare(b.name));
    },
    payload: async (name) => (await ledger.payload(id, String(name)))?.toString(),
    events: async () => {
      const entries = await redis.client.xrange(keys.events, '-', '+');
      return entries.map(([, fields]) => {
        const pairs: [string, string][] = [];
        for (let index = 0; index < fields.length; index += 2) {
          pairs.push([fields[index] ?? '', fields[index + 1] ?? '']);
        }
        return Object.fromEntries(pairs);
      });
    },
    setField: async (name, value) => {
      await redis.client.hset(record, name, value);
    },
  };
  expect(await ledger.start(id, { ...PLAN, ...plan }, 'print', RETENTION_MS)).toBe('started');
  for (const size of sizes) expect(await bench.store(size)).toBe('stored');
  if (imported) await ledger.endImport(id, 0, 0);
  return bench;
}

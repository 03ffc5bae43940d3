import { expect } from 'vitest';
import type { BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import type { Settlement } from '../../../src/batch/ledger/settlement.ts';
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

/** One account with one batch in its own namespace, for tests of the ledger. */
export type BatchBench = Awaited<ReturnType<typeof openBatch>>;

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
) {
  const { prefix, keys } = redis.account();
  const id = 'b-1';
  const ledger = new Ledger(redis.client, keys);
  // The lock that a test's attempts own.
  const lock = { key: `${keys.bullPrefix}:job-1:lock`, token: 'worker-1' };
  await redis.client.set(lock.key, lock.token);

  const batch = async () => {
    const found = await ledger.read(id);
    if (found === undefined) throw new Error('there is no batch');
    return found;
  };
  /** Stores the next chunk; its payload names it. */
  const store = async (size = PLAN.chunkSize) => {
    const { chunksOfList: chunk, chunks, rows } = await batch();
    return ledger.store(id, { chunk, size, rows: rows + size, payload: payloadOf(chunks) });
  };
  const claim = (chunk: number, nonce = 'a') => ledger.claim(id, chunk, nonce, lock);
  const settle = (chunk: number, settlement: Settlement, nonce = 'a') =>
    ledger.settle(id, chunk, nonce, settlement);

  expect(await ledger.start(id, { ...PLAN, ...plan }, 'print', RETENTION_MS)).toBe('started');
  for (const size of sizes) expect(await store(size)).toBe('stored');
  if (imported) await ledger.endImport(id, 0, 0);
  return {
    prefix,
    ledger,
    keys,
    id,
    batch,
    store,
    claim,
    claimKind: async (chunk: number) => (await claim(chunk)).kind,
    settle,
    settleNew: async (chunk: number, settlement: Settlement) => {
      await claim(chunk);
      return settle(chunk, settlement);
    },
    /** Gives jobs to chunks that need one, as queueChunks does; their numbers. */
    queue: async (limit = 100) => {
      const next = await ledger.chunksWithoutJob(id, limit, 0);
      if (next === undefined) return undefined;
      await ledger.chunksWithoutJob(id, 0, 0, next);
      return next.chunks.map(({ chunk }) => chunk);
    },
    /** Counts that are not zero; also checks that the states add up to the total. */
    counts: async () => {
      const { counts } = await batch();
      const { total, pending, sending, accepted, rejected, unknown, expired, cancelled } = counts;
      expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
      expect(sending).toBeLessThanOrEqual(pending);
      const shown = Object.entries(counts).filter(([name, n]) => n !== 0 && name !== 'total');
      return Object.fromEntries(shown);
    },
    failures: async () => {
      const failures: FailureRecord[] = [];
      for await (const failure of ledger.failures(id)) failures.push(failure);
      return failures.sort((a, b) => a.name.localeCompare(b.name));
    },
    /** Moves the batch's clocks: the record's own fields, as Redis holds them. */
    setFields: (fields: Readonly<Record<string, number>>) =>
      redis.client.hset(keys.batch(id).record, fields),
  };
}

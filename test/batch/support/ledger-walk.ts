import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import * as fc from 'fast-check';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { TestRedis } from '../../support/redis.ts';
import { MOVES, Pair } from './ledger-pair.ts';

/**
 * Plays random moves of two batches of an account, and compares them with the model after each: repeated, crashed and
 * late attempts, and whatever people decide meanwhile.
 */
export async function walkLedger(redis: TestRedis, numRuns: number, seed?: number): Promise<void> {
  const moves = fc.array(fc.tuple(fc.boolean(), MOVES), { minLength: 30, maxLength: 90 });
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const { keys } = redis.account();
      const ledger = new Ledger(redis.client, keys);
      const pairs = [
        new Pair('at-least', 'at-least-once', redis, ledger, keys),
        new Pair('at-most', 'at-most-once', redis, ledger, keys),
      ] as const;
      for (const pair of pairs) await pair.start();
      const sum = (of: (pair: Pair) => number) => pairs.reduce((all, pair) => all + of(pair), 0);
      for (const [first, move] of list) {
        const pair = pairs[first ? 0 : 1];
        await pair.play(move);
        await pair.check();
        const [unsent, unknown, twice] = await Promise.all([
          ledger.unsent(),
          ledger.unknownByBatch(),
          redis.client.hget(keys.counts, 'chunksTwice'),
        ]);
        strictEqual(
          unsent,
          sum(({ model }) => model.counts().pending),
        );
        strictEqual(
          Number(twice),
          sum(({ twice }) => twice),
        );
        const kept = pairs.map(({ id, model }) => [id, model.counts().unknown] as const);
        deepStrictEqual(
          [...unknown].sort(([a], [b]) => a.localeCompare(b)),
          kept.filter(([, contacts]) => contacts > 0),
        );
      }
      const events = await redis.client.xrange(keys.events, '-', '+');
      for (const [name, event] of [
        ['batch.finished', 'finished'],
        ['contact.rejected', 'rejected'],
      ] as const) {
        const found = events.filter(([, fields]) => fields.includes(name));
        strictEqual(
          found.length,
          sum(({ model }) => model.events[event]),
        );
      }
    }),
    { numRuns, ...(seed === undefined ? {} : { seed, endOnFailure: true }) },
  );
}

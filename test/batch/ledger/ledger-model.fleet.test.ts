import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { MOVES, Pair } from '../support/ledger-pair.ts';

const redis = testRedis();

it('adds up after every operation, with repeated, crashed and late attempts, and whatever people decide meanwhile', async () => {
  const moves = fc.array(fc.tuple(fc.boolean(), MOVES), { minLength: 30, maxLength: 90 });
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const keys = keysOf(redis.freshPrefix(), 'default');
      const ledger = new Ledger(redis.client, keys);
      const pairs = [
        new Pair('at-least', 'at-least-once', redis, ledger, keys),
        new Pair('at-most', 'at-most-once', redis, ledger, keys),
      ] as const;
      for (const pair of pairs) await pair.start();
      for (const [first, move] of list) {
        const pair = pairs[first ? 0 : 1];
        await pair.play(move);
        await pair.check();
        const pending = pairs.map(({ model }) => model.counts().pending);
        expect(await ledger.unsent()).toBe(pending.reduce((sum, one) => sum + one, 0));
        const unknown = pairs.map(({ model }) => model.counts().unknown);
        expect(await ledger.unknownContacts()).toBe(unknown.reduce((sum, one) => sum + one, 0));
        const ids = pairs.filter(({ model }) => model.counts().unknown > 0).map(({ id }) => id);
        expect([...(await ledger.unknownByBatch()).keys()].sort()).toEqual(ids.sort());
      }
      const events = await redis.client.xrange(keys.events, '-', '+');
      const finished = events.filter(([, fields]) => fields.includes('batch.finished'));
      expect(finished).toHaveLength(
        pairs.reduce((sum, { model }) => sum + model.finishedEvents, 0),
      );
    }),
    { numRuns: 250 },
  );
}, 240_000);

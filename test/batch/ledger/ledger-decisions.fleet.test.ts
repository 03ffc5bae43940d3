import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { LedgerWalk, STEPS } from '../support/ledger-walk.ts';

const redis = testRedis();

it.each(['at-least-once', 'at-most-once'] as const)(
  '%s: every number is that of what is stored, whatever people decide while it is sent',
  async (delivery) => {
    const moves = fc.array(STEPS, { minLength: 40, maxLength: 90 });
    await fc.assert(
      fc.asyncProperty(moves, async (list) => {
        const walk = new LedgerWalk(redis);
        await walk.start({ delivery });
        await walk.play('store', 3, 0);
        for (const [move, one, other] of list) {
          await walk.play(move, one, other);
          const [sum, total] = await walk.check();
          expect(sum).toBe(total);
        }
      }),
      { numRuns: 120 },
    );
  },
  240_000,
);

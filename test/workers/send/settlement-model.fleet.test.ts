import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { HISTORY, SettlementRun } from './support/settlement-model.ts';

const redis = testRedis();

it('each contact ends once and as the service knows it, whatever replies and workers are lost', async () => {
  let played = 0;
  // Histories run beside each other: most of their time they wait to repeat a command.
  const property = fc.asyncProperty(
    fc.array(HISTORY, { minLength: 50, maxLength: 50, size: 'max' }),
    async (histories) => {
      const ends = await Promise.allSettled(
        histories.map((history) => new SettlementRun(redis, history).play()),
      );
      const failed = ends.flatMap((end, at) =>
        end.status === 'fulfilled'
          ? []
          : [`${String(end.reason)}: ${JSON.stringify(histories[at])}`],
      );
      expect(failed.slice(0, 1)).toEqual([]);
      played += histories.length;
    },
  );
  await fc.assert(property, { numRuns: 5, endOnFailure: true });
  expect(played).toBeGreaterThanOrEqual(250);
}, 60_000);

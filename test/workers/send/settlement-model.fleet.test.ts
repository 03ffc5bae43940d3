import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { MISTAKES, type Mistake } from './support/planted-script.ts';
import { HISTORY, SettlementRun, type History } from './support/settlement-model.ts';

const redis = testRedis();

/** Plays histories beside each other: most of their time they wait to repeat a command. */
async function failures(histories: readonly History[], mistake?: Mistake): Promise<string[]> {
  const ends = await Promise.allSettled(
    histories.map((history) => new SettlementRun(redis, history, mistake).play()),
  );
  return ends.flatMap((end, at) =>
    end.status === 'fulfilled' ? [] : [`${String(end.reason)}: ${JSON.stringify(histories[at])}`],
  );
}

it('each contact ends once and as the service knows it, whatever replies and workers are lost', async () => {
  let played = 0;
  const property = fc.asyncProperty(
    fc.array(HISTORY, { minLength: 50, maxLength: 50, size: 'max' }),
    async (histories) => {
      const failed = await failures(histories);
      expect(failed.slice(0, 1)).toEqual([]);
      played += histories.length;
    },
  );
  await fc.assert(property, { numRuns: 5, endOnFailure: true });
  expect(played).toBeGreaterThanOrEqual(250);
}, 60_000);

it.each(MISTAKES)(
  'notices when %s',
  async (_name, law, mistake) => {
    let found: string[] = [];
    for (let seed = 1; seed <= 10 && found.length === 0; seed++) {
      found = await failures(fc.sample(HISTORY, { numRuns: 50, seed }), mistake);
    }
    expect(found.join()).toContain(law);
  },
  60_000,
);

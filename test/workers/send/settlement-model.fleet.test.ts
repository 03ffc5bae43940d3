import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import type { Mistake } from './support/planted-script.ts';
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

it.each<[string, string, Mistake]>([
  [
    'a settlement whose answer was lost is not repeated',
    'without a job',
    'settlements are not repeated',
  ],
  [
    'a claim that is repeated counts as another one',
    'counts as unknown',
    ["redis.call('HGET', inflight, chunk) == nonce", 'false'],
  ],
  [
    'what a worker had claimed before it ended is sent again at-most-once',
    'is sent again under at-most-once',
    ["if underWay and delivery == 'at-most-once' then", 'if false then'],
  ],
  [
    'what is sent again is not counted as possibly sent twice',
    'sent twice',
    ['if possiblySent then countTwice(KEYS[13], size) end', ''],
  ],
  [
    'any attempt settles a chunk, whoever claimed it',
    'without a job',
    ["if redis.call('HGET', inflight, chunk) ~= nonce\n", 'if false\n'],
  ],
  [
    'an attempt that lost its claim settles what it did not see accepted',
    'without a job',
    ['accepted == size and rest == 0 and #ARGV == 8', 'true'],
  ],
  [
    'a rejection after a possibly sent attempt counts',
    'counts as rejected',
    ["possiblySent and 'unknown' or ARGV[at]", 'ARGV[at]'],
  ],
  [
    'what was possibly sent before is forgotten when it is tried again',
    'counts as rejected',
    ["possiblySent or ARGV[6] == '1', clock()", "ARGV[6] == '1', clock()"],
  ],
  ['the chunk of what was not sent yet is not counted', 'pending', ["add('pending', split)", '']],
  [
    'a worker whose lock ran out goes on with the halves of a chunk',
    'is sent again after its acceptance',
    'locks are not watched',
  ],
])(
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

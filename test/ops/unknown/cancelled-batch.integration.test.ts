import { describe, expect, it } from 'vitest';
import { allBack } from '../../../src/batch/ledger/settlement.ts';
import { type Keys } from '../../../src/redis/keys.ts';
import { eraseContacts } from '../../../src/erase/stored-contacts.ts';
import { sealingOf } from '../../../src/payload/seal.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();
const OF_CHUNK = contacts(3).map(({ contact }) => contact);
const [FIRST = ''] = OF_CHUNK;

/**
 * A batch that was cancelled while its first chunk waited after an attempt without an answer; the second was never
 * sent.
 */
async function cancelled() {
  const { prefix, keys } = redis.account();
  const batch = await buildBatch(redis.client, prefix, 'b', [contacts(3), contacts(3, 3)]);
  await batch.settle(0, allBack(true));
  await batch.ledger.control('b', 'cancel');
  const notices = (line: string) => run(line, { REDIS_URL: redis.url, REDIS_PREFIX: prefix });
  const counts = async () => {
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = (await batch.read())
      .counts;
    expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
    return { accepted, unknown, cancelled };
  };
  return { ...batch, keys, notices, counts };
}

/** Keys of the batch that do not expire with it. */
async function keptForEver(keys: Keys): Promise<string[]> {
  const all = Object.values(keys.batch('b'));
  const left = await Promise.all(all.map((key) => redis.client.pttl(key)));
  return all.filter((_, index) => left[index] === -1);
}

describe('contacts that were possibly sent when their batch was cancelled', () => {
  it('are in the status, the list, its download and the findings of the doctor', async () => {
    const { notices } = await cancelled();
    expect((await notices('doctor --strict')).stdout).toContain('3 unknown outcomes to decide');
    const json = async (line: string) => JSON.parse((await notices(line)).stdout) as unknown;
    expect(await json('status --json')).toMatchObject({
      unknown: { notices: 0, contacts: 3 },
      batches: { unknown: 3 },
    });
    expect(await json('failures --json')).toMatchObject({
      batches: [{ batch: 'b', contacts: 3, codes: ['OUTCOME_UNKNOWN'] }],
    });
    const csv = (await notices('failures --csv --state unknown')).stdout;
    expect(OF_CHUNK.filter((number) => csv.includes(number))).toEqual(OF_CHUNK);
    expect(csv.trim().split('\n')).toHaveLength(4);
  });

  it.each([
    ['accepted', 'settled as accepted', { accepted: 3, unknown: 0, cancelled: 3 }],
    ['discard', 'given up', { accepted: 0, unknown: 0, cancelled: 6 }],
  ] as const)('can be resolved as %s, and then raise no alarm', async (as, says, after) => {
    const built = await cancelled();
    const { notices, counts, ledger, keys } = built;
    expect(await counts()).toEqual({ accepted: 0, unknown: 3, cancelled: 3 });
    const resolved = await notices(`decide --batch b --as ${as} --yes`);
    expect(resolved.stdout).toContain(`3 contacts ${says}.`);
    expect(resolved.code).toBe(0);
    expect(await counts()).toEqual(after);
    expect(await ledger.payload('b', '0')).toBeUndefined();
    expect(await ledger.payload('b', '1')).toBeDefined();
    expect((await notices('doctor')).stdout).toContain('no outcome is unknown');
    const again = await notices(`decide --batch b --as ${as} --yes`);
    expect(again.stdout).toContain('Nothing was done.');
    expect(await counts()).toEqual(after);
    expect(await built.read()).toMatchObject({ phase: 'cancelled' });
    expect(await redis.client.pttl(keys.batch('b').record)).toBeGreaterThan(0);
    expect(await keptForEver(keys)).toEqual([]);
  });

  it('are no longer unknown once they are erased', async () => {
    const { counts, ledger } = await cancelled();
    const source = { ledger, sealing: sealingOf('default', {}) };
    expect(await eraseContacts(source, 'b', '0', [FIRST])).toBe('erased');
    expect(await counts()).toEqual({ accepted: 0, unknown: 2, cancelled: 4 });
  });
});

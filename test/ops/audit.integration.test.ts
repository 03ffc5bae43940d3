import { describe, expect, it } from 'vitest';
import { appendAudit, readAudit, type Actor, type AuditEntry } from '../../src/ops/audit.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const DAY = 86_400_000;

const ENTRY = { who: 'kim', what: 'hold', target: 'queue', as: 'placed', why: 'w' } as const;

function open() {
  const { keys } = redis.account();
  const append = (some: Partial<AuditEntry & Actor>) => {
    const entry = { ...ENTRY, ...some };
    return appendAudit({ redis: redis.client, keys }, entry, entry);
  };
  const read = (limit = 100_000) => readAudit(redis.client, keys, limit);
  return { keys, append, read };
}

/** So many at a time. */
async function many(count: number, one: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => one(from + index)));
  }
}

describe('the audit streams', () => {
  it('an operator who makes twenty thousand entries displaces none', async () => {
    const { append, read } = open();
    await append({ who: 'kim', why: 'the first' });
    await many(20_000, (index) => append({ who: 'otto', target: `n-${index}`, what: 'decide' }));
    const entries = await read();
    expect(entries).toHaveLength(20_001);
    expect(entries.at(-1)).toMatchObject({ who: 'kim', why: 'the first' });
  }, 60_000);

  it('searches and downloads are kept apart from changes, and read together in their order', async () => {
    const { keys, append, read } = open();
    await append({ why: 'first' });
    await append({ what: 'search', as: 'searched', target: 'number 010******01' });
    await append({ what: 'download', target: 'batch b' });
    await append({ what: 'import', target: 'batch b', as: 'imported', contacts: 3 });
    expect(await redis.client.xlen(keys.audit)).toBe(2);
    expect(await redis.client.xlen(keys.auditReads)).toBe(2);
    expect((await read()).map(({ what }) => what).toSorted()).toEqual(
      ['download', 'hold', 'import', 'search'].toSorted(),
    );
    expect((await read(1))[0]?.what).toBe('import');
  });

  it('entries are kept for ninety days', async () => {
    const { keys, append, read } = open();
    const add = (ageDays: number) =>
      redis.client.xadd(keys.audit, `${Date.now() - ageDays * DAY}-0`, 'who', `d${ageDays}`);
    // Redis trims whole nodes of a stream, a hundred entries each.
    for (let day = 300; day > 91; day -= 1) await add(day);
    await add(89);
    await append({ who: 'now' });
    const who = (await read()).map((entry) => entry.who);
    expect(who.slice(0, 2)).toEqual(['now', 'd89']);
    expect(who.length).toBeLessThan(150);
  });
});

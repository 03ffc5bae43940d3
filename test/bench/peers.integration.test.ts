import { describe, expect, it } from 'vitest';
import { CHUNK_SENDERS } from '../../bench/legs/chunks.ts';
import { CHUNK_NOTICES, SINGLE_NOTICES } from '../../bench/legs/peers.ts';
import { SENDERS } from '../../bench/legs/single-sends.ts';
import type { Sender } from '../../bench/legs/single-sends.ts';
import type { Stage } from '../../bench/harness/stage.ts';

const namesOn = (senders: readonly Sender[], postgresUrl: string | undefined) =>
  senders.filter(({ possible }) => possible({ postgresUrl } as Stage)).map(({ name }) => name);

const OTHERS = ['BullMQ + axios', 'BullMQ + undici', 'BullMQ + fetch'];
const ON_POSTGRES = ['graphile-worker + undici', 'pg-boss + undici'];

describe('the contestants', () => {
  it.each([
    { work: 'single sends', senders: SENDERS },
    { work: 'chunks', senders: CHUNK_SENDERS },
  ])('of $work are queues with a fast HTTP client, too', ({ senders }) => {
    const names = namesOn(senders, 'postgres://127.0.0.1');
    expect(names).toEqual(expect.arrayContaining([...OTHERS, ...ON_POSTGRES]));
  });

  it('that need PostgreSQL are left out without one', () => {
    const names = namesOn([...SENDERS, ...CHUNK_SENDERS], undefined);
    expect(names).toEqual(expect.arrayContaining(OTHERS));
    expect(names.filter((name) => /graphile|pg-boss/.test(name))).toStrictEqual([]);
  });
});

describe('the load of a race', () => {
  it.each([
    { load: SINGLE_NOTICES, total: 2_500, calls: [1_000, 1_000, 500], each: 1 },
    { load: CHUNK_NOTICES, total: 12_000, calls: [10, 2], each: 1_000 },
  ])('of $load.kind is every contact once, some at a time', ({ load, total, calls, each }) => {
    const found = [...load.calls(total)];
    expect(found.map(({ length }) => length)).toStrictEqual(calls);
    const contacts = found.flat().map(({ contacts }) => contacts.map(({ contact }) => contact));
    expect(new Set(contacts.map(({ length }) => length))).toStrictEqual(new Set([each]));
    expect(new Set(contacts.flat()).size).toBe(total);
  });
});

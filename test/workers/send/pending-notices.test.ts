import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobData } from '../../../src/contracts/job.ts';
import type { Contact } from '../../../src/contracts/notice.ts';
import {
  pendingNotice,
  PendingNotices,
  type PendingNotice,
} from '../../../workers/send/coalescer.ts';

interface Numbered extends PendingNotice {
  /** Its place in line when it came. */
  readonly at: number;
}

/** Few groupKeyes and numbers, so that they meet. */
const notices = fc
  .array(
    fc.record({
      groupKey: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined, freq: 4 }),
      numbers: fc.uniqueArray(fc.constantFrom(...'0123456789abcdef'.split('')), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    { maxLength: 60 },
  )
  .map((list) => list.map((notice, at): Numbered => ({ ...notice, at })));

/** Takes groups until nobody waits, with newcomers between the takes. */
function groupsOf(all: readonly Numbered[], maxContacts: number, perTake: number): Numbered[][] {
  const line = new PendingNotices<Numbered>(maxContacts);
  const groups: Numbered[][] = [];
  for (let from = 0; from < all.length; from += perTake) {
    for (const notice of all.slice(from, from + perTake)) line.push(notice);
    groups.push(line.take());
  }
  for (let group = line.take(); group.length > 0; group = line.take()) groups.push(group);
  return groups.filter((group) => group.length > 0);
}

describe('the waiting line', () => {
  const runs = fc.tuple(notices, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 30 }));

  it('lets everybody go once, in groups that are alike and within bounds, no number twice', () => {
    fc.assert(
      fc.property(runs, ([all, maxContacts, perTake]) => {
        const groups = groupsOf(all, maxContacts, perTake);
        const went = groups.flat().map(({ at }) => at);
        expect(went.toSorted((a, b) => a - b)).toEqual(all.map(({ at }) => at));
        for (const group of groups) {
          const numbers = group.flatMap((notice) => notice.numbers);
          expect(new Set(numbers).size).toBe(numbers.length);
          if (group.length === 1) continue;
          expect(numbers.length).toBeLessThanOrEqual(maxContacts);
          const [groupKey, ...others] = new Set(group.map((notice) => notice.groupKey));
          expect(others).toEqual([]);
          expect(groupKey).toBeDefined();
        }
      }),
    );
  });

  it('lets no notice overtake an older one to the same number, and the oldest always go next', () => {
    fc.assert(
      fc.property(runs, ([all, maxContacts, perTake]) => {
        const groups = groupsOf(all, maxContacts, perTake);
        const wentIn = new Map(groups.flatMap((group, index) => group.map((one) => [one, index])));
        for (const older of all) {
          for (const newer of all.slice(older.at + 1)) {
            if (!older.numbers.some((number) => newer.numbers.includes(number))) continue;
            expect(wentIn.get(older)).toBeLessThan(wentIn.get(newer) ?? -1);
          }
        }
        const left = new Set(all.map(({ at }) => at));
        for (const group of groups) {
          expect(group[0]?.at).toBe(Math.min(...left));
          for (const { at } of group) left.delete(at);
        }
      }),
    );
  });

  it('leaves nobody behind who could go along', () => {
    const line = new PendingNotices<PendingNotice>(4);
    const one = (groupKey: string | undefined, ...numbers: string[]) => ({ groupKey, numbers });
    const a1 = one('a', '1');
    const b1 = one('b', '2');
    const a2 = one('a', '1');
    const a3 = one('a', '3', '4', '5', '6');
    const a4 = one('a', '7');
    const a5 = one('a', '3');
    const a6 = one('a', '2');
    const alone = one(undefined, '8');
    const a7 = one('a', '9');
    for (const notice of [a1, b1, a2, a3, a4, a5, a6, alone, a7]) line.push(notice);
    // Behind: another template, a number that is there, too many, a number of each left behind.
    expect(line.take()).toEqual([a1, a4, a7]);
    expect(line.take()).toEqual([b1]);
    expect(line.take()).toEqual([a2, a6]);
    expect(line.take()).toEqual([a3]);
    expect(line.take()).toEqual([a5]);
    expect(line.take()).toEqual([alone]);
    expect(line.take()).toEqual([]);
  });
});

describe('pendingNotice', () => {
  const data = (more: object = {}, contacts: unknown = [{ contact: '010', var1: 'x' }]): JobData =>
    ({
      v: 1,
      notice: { templateCode: 'T', scheduleType: 'DIRECTLY', ...more, contacts },
    }) as JobData;
  const groupKey = (of: JobData, attemptsMade = 0, max = 10) =>
    pendingNotice(of, attemptsMade, max).groupKey;

  it('holds notices for alike that differ in their contacts and deadlines only', () => {
    const other = { ...data({}, [{ contact: '011' }, { contact: '012' }]), expiresAt: 5 };
    expect(groupKey(data())).toBeDefined();
    expect(groupKey(other)).toBe(groupKey(data()));
  });

  it.each<[string, JobData]>([
    ['template', data({ templateCode: 'U' })],
    ['schedule', data({ scheduleType: 'SCHEDULED' })],
    ['sender key', data({ senderKey: 'K' })],
    ['chat sender key', data({ chatSenderKey: 'K' })],
    ['unknown field', data({ at: '2026-11-21 09:00:00' })],
    ['unknown field named __proto__', data(JSON.parse('{"__proto__":{"x":1}}') as object)],
    ['delivery policy', { ...data(), delivery: 'at-most-once' }],
  ])('never of another %s', (_name, other) => {
    expect(groupKey(other)).toBeDefined();
    expect(groupKey(other)).not.toBe(groupKey(data()));
  });

  it.each<[string, JobData, number, number]>([
    ['that has been tried before', data(), 1, 10],
    ['as large as a request', data({}, Array.from({ length: 3 }, contactAt)), 0, 3],
    ['with a number twice', data({}, [{ contact: '010' }, { contact: '010' }]), 0, 10],
    ['with a contact without a number', data({}, [{ contact: '010' }, { name: 'x' }]), 0, 10],
    ['with a contact that is null', data({}, [null]), 0, 10],
    ['where coalescing is off', data(), 0, 1],
  ])('lets a notice go alone %s', (_name, of, attemptsMade, max) => {
    expect(groupKey(of, attemptsMade, max)).toBeUndefined();
  });

  it('knows the numbers of a notice that goes alone, too', () => {
    const twice = data({}, [{ contact: '010' }, { contact: '010' }, null]);
    expect(pendingNotice(twice, 1, 10).numbers).toEqual(['010', '010']);
  });
});

function contactAt(_: unknown, index: number): Contact {
  return { contact: `01${index}` };
}

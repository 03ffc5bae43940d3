import { describe, expect, it } from 'vitest';
import { readNotice } from '../../src/contracts/read-notice.ts';
import {
  ADD_ONCE_MS,
  fingerprint,
  jobIds,
  judgeHead,
  olderFingerprint,
  planJobs,
  planNotice,
  withFingerprint,
} from '../../src/producer/plan-jobs.ts';
import type { PlannedNotice } from '../../src/producer/plan-jobs.ts';
import { contacts } from './support/stored-jobs.ts';

const NOW = 1_700_000_000_000;
const WINDOW = 60_000;

function plan(count: number, chunkSize: number, options: object = {}): PlannedNotice {
  const notice = readNotice({ templateCode: 'T', contacts: contacts(count) });
  const planned = planNotice(notice, options, { chunkSize, now: NOW, delivery: 'at-least-once' });
  return withFingerprint(planned, 'secret of the account');
}

const all = (planned: PlannedNotice) => [...planJobs(planned, planned, 0, undefined, WINDOW)];

describe('planNotice', () => {
  it.each([
    { count: 1, chunkSize: 1, sizes: [1] },
    { count: 2, chunkSize: 1, sizes: [1, 1] },
    { count: 3, chunkSize: 3, sizes: [3] },
    { count: 4, chunkSize: 3, sizes: [3, 1] },
    { count: 7, chunkSize: 3, sizes: [3, 3, 1] },
    { count: 5, chunkSize: 10_000, sizes: [5] },
  ])('cuts $count contacts by $chunkSize into $sizes', ({ count, chunkSize, sizes }) => {
    const planned = plan(count, chunkSize);
    const jobs = all(planned);
    expect(jobs.map(({ data }) => data.notice.contacts.length)).toEqual(sizes);
    expect(jobs.flatMap(({ data }) => data.notice.contacts)).toEqual(contacts(count));
    expect(jobs.map(({ opts }) => opts.jobId)).toEqual(jobIds(planned, planned));
  });

  it('names jobs so that BullMQ takes the ids: a prefix, no colon, the chunk at the end', () => {
    expect(jobIds(plan(1, 5), plan(1, 5))).toEqual([expect.stringMatching(/^n-[\w-]{16}$/)]);
    const keyed = plan(7, 5, { idempotencyKey: 'k' });
    expect(keyed.id).toMatch(/^n-[\w-]{16}\.h[\w-]{11}\.5$/);
    expect(jobIds(keyed, keyed)).toEqual([`${keyed.id}-0`, `${keyed.id}-1`]);
  });

  it('gives every notice an id of its own, with the same key too', () => {
    const ids = Array.from({ length: 200 }, () => plan(1, 1, { idempotencyKey: 'k' }).id);
    expect(new Set(ids).size).toBe(200);
  });

  it.each([
    { options: {}, delay: undefined },
    { options: { delay: 0 }, delay: undefined },
    { options: { delay: 250 }, delay: 250 },
    { options: { sendAt: NOW + 1_500 }, delay: 1_500 },
    // The time may pass while the notice is checked.
    { options: { sendAt: NOW - 5 }, delay: undefined },
  ])('turns $options into a delay of $delay', ({ options, delay }) => {
    for (const { opts } of all(plan(3, 2, options))) expect(opts.delay).toBe(delay);
  });

  it('leaves out of the job what is not set', () => {
    const planned = plan(1, 1);
    const [job] = all(planned);
    expect(job).toEqual({
      name: 'send',
      data: {
        v: 1,
        notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: contacts(1) },
      },
      opts: { jobId: planned.id, deduplication: { id: planned.id, ttl: ADD_ONCE_MS } },
    });
  });

  it('gives expiresAt and priority to every job', () => {
    const jobs = all(plan(3, 1, { expiresAt: NOW + 9, priority: 4 }));
    expect(jobs.map(({ data }) => data.expiresAt)).toEqual([NOW + 9, NOW + 9, NOW + 9]);
    expect(jobs.map(({ opts }) => opts.priority)).toEqual([4, 4, 4]);
  });

  it('deduplicates the first job by the key, and every other by its own id', () => {
    const planned = plan(3, 1, { idempotencyKey: 'my secret key' });
    const jobs = all(planned);
    expect(jobs.map(({ opts }) => opts.deduplication)).toEqual([
      { id: planned.keyHash, ttl: WINDOW },
      { id: `${planned.id}-1`, ttl: WINDOW },
      { id: `${planned.id}-2`, ttl: WINDOW },
    ]);
    expect(JSON.stringify(jobs)).not.toContain('my secret key');
  });

  it('counts the window of a key from the time at which the notice is due', () => {
    for (const options of [{ delay: 500 }, { sendAt: NOW + 500 }]) {
      const jobs = all(plan(3, 1, { idempotencyKey: 'k', ...options }));
      expect(jobs.map(({ opts }) => opts.deduplication.ttl)).toEqual(
        [1, 1, 1].map(() => WINDOW + 500),
      );
    }
  });

  it('without a key, deduplicates every job by its own id, for as long as an add may be repeated', () => {
    for (const { opts } of all(plan(3, 1))) {
      expect(opts.deduplication).toEqual({ id: opts.jobId, ttl: ADD_ONCE_MS });
    }
  });
});

describe('fingerprint', () => {
  const base = { templateCode: 'T', extra: { a: 1, b: [1, 2] }, contacts: contacts(3) };
  const print = (notice: object) => fingerprint(readNotice(notice), 'a secret');

  it('does not depend on the order of fields, and leaves undefined ones out', () => {
    const { templateCode, extra, contacts: list } = base;
    const turned = { contacts: list, extra: { b: extra.b, a: extra.a }, templateCode };
    expect(print({ ...turned, senderKey: undefined })).toBe(print(base));
    expect(print({ ...base, scheduleType: 'DIRECTLY' })).toBe(print(base));
  });

  it.each([
    ['a template code', { ...base, templateCode: 'U' }],
    ['a schedule type', { ...base, scheduleType: 'SCHEDULED' }],
    ['a sender key', { ...base, senderKey: 's' }],
    ['an unknown field', { ...base, extra: { a: 1, b: [2, 1] } }],
    ['the type of a value', { ...base, extra: { a: '1', b: [1, 2] } }],
    ['a contact more', { ...base, contacts: contacts(4) }],
    ['the order of contacts', { ...base, contacts: contacts(3).reverse() }],
    ['a variable', { ...base, contacts: [{ contact: '0', var1: 'x' }] }],
    ['where a contact ends', { ...base, contacts: [{ contact: '0' }, { contact: '1', a: 2 }] }],
  ])('depends on %s', (_, notice) => {
    expect(print(notice)).not.toBe(print(base));
  });
});

it('a fingerprint depends on the secret of the account', () => {
  const notice = readNotice({ templateCode: 'T', contacts: contacts(1) });
  expect(fingerprint(notice, 'one')).not.toBe(fingerprint(notice, 'other'));
});

describe('judgeHead', () => {
  const keyed = { idempotencyKey: 'k' };
  const first = plan(5, 2, keyed);
  const single = plan(1, 2, keyed);
  const owner = { id: first.id, chunkSize: 2 };

  it('knows its own first job', () => {
    expect(judgeHead(first, `${first.id}-0`)).toEqual({ kind: 'new', owner });
    expect(judgeHead(plan(1, 2), 'n-0')).toEqual({ kind: 'conflict' });
    const unkeyed = plan(1, 2);
    expect(judgeHead(unkeyed, unkeyed.id)).toMatchObject({ kind: 'new' });
  });

  it('knows an earlier call with the same content', () => {
    expect(judgeHead(plan(5, 2, keyed), `${first.id}-0`)).toEqual({ kind: 'duplicate', owner });
    expect(judgeHead(plan(1, 2, keyed), single.id)).toMatchObject({ kind: 'duplicate' });
  });

  it('knows what an earlier version queued, whose fingerprint has no key', () => {
    const print = olderFingerprint(first.notice);
    const id = `n-${'x'.repeat(16)}.${print}.2`;
    expect(judgeHead(plan(5, 2, keyed), `${id}-0`)).toEqual({
      kind: 'duplicate',
      owner: { id, chunkSize: 2 },
    });
    expect(judgeHead(plan(4, 2, keyed), `${id}-0`)).toEqual({ kind: 'conflict' });
  });

  it('cuts where the earlier call did, whatever the chunk size is now', () => {
    const again = plan(5, 3, keyed);
    const verdict = judgeHead(again, `${first.id}-0`);
    expect(verdict).toEqual({ kind: 'duplicate', owner });
    expect(jobIds(again, owner)).toEqual(jobIds(first, first));
    const [second] = planJobs(again, owner, 1, 2, WINDOW);
    expect(second?.data.notice.contacts).toEqual(contacts(2, 2));
    // One job then, several now, and the other way round.
    expect(judgeHead(plan(5, 2, keyed), plan(5, 9, keyed).id)).toMatchObject({
      kind: 'duplicate',
      owner: { chunkSize: 9 },
    });
    expect(judgeHead(plan(5, 9, keyed), `${first.id}-0`)).toMatchObject({ kind: 'duplicate' });
  });

  it.each([
    ['another content', `n-${'x'.repeat(16)}.AAAAAAAA.2-0`],
    ['a notice without a key', `n-${'x'.repeat(16)}`],
    ['a job of another program', '17'],
    ['no answer', ''],
  ])('finds a conflict in %s', (_, heldId) => {
    expect(judgeHead(first, heldId)).toEqual({ kind: 'conflict' });
  });
});

import { describe, expect, it } from 'vitest';
import { readNotice } from '../../src/contracts/notice.ts';
import { ADD_ONCE_MS, fingerprint, judge, planJob } from '../../src/producer/planned-job.ts';
import { hashKey } from '../../src/notices/notice-ref.ts';
import { contacts } from './support/stored-jobs.ts';

const NOW = 1_700_000_000_000;
const WINDOW = 60_000;
const SETTINGS = {
  delivery: 'at-least-once',
  idempotencyWindowMs: WINDOW,
  now: () => NOW,
  secret: 'secret of the account',
} as const;

function plan(count = 1, options: object = {}, templateCode = 'T') {
  return planJob(readNotice({ templateCode, contacts: contacts(count) }), options, SETTINGS);
}

describe('planJob', () => {
  it('names the job so that BullMQ takes the id: a prefix, no colon', () => {
    expect(plan().opts.jobId).toMatch(/^n-[\w-]{16}$/);
    expect(plan(7, { idempotencyKey: 'k' }).opts.jobId).toMatch(/^n-[\w-]{16}\.[\w-]{11}$/);
  });

  it('gives every notice an id of its own, with the same key too', () => {
    const ids = Array.from({ length: 200 }, () => plan(1, { idempotencyKey: 'k' }).opts.jobId);
    expect(new Set(ids).size).toBe(200);
  });

  it.each([
    { options: {}, delay: undefined },
    { options: { delay: 0 }, delay: undefined },
    { options: { delay: 250 }, delay: 250 },
    { options: { sendAt: NOW + 1_500 }, delay: 1_500 },
    // The time may pass while the notice is checked.
    { options: { sendAt: NOW - 5 }, delay: undefined },
  ])("turns $options into a delay of $delay from Redis' time", ({ options, delay }) => {
    const { opts } = plan(3, options);
    expect([opts.delay, opts.timestamp]).toEqual([delay, delay && NOW]);
  });

  it('leaves out of the job what is not set', () => {
    const job = plan();
    const { jobId } = job.opts;
    expect(job).toEqual({
      name: 'send',
      data: {
        v: 1,
        notice: { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: contacts(1) },
      },
      opts: { jobId, deduplication: { id: jobId, ttl: ADD_ONCE_MS } },
    });
  });

  it('gives it expiresAt, priority and delivery', () => {
    const { data, opts } = plan(3, { expiresAt: NOW + 9, priority: 4, delivery: 'at-most-once' });
    expect([data.expiresAt, opts.priority, data.delivery]).toEqual([NOW + 9, 4, 'at-most-once']);
  });

  it('deduplicates by the hash of the key, from the time at which the notice is due', () => {
    for (const [options, waits] of [
      [{}, 0],
      [{ delay: 500 }, 500],
      [{ sendAt: NOW + 500 }, 500],
    ] as const) {
      const job = plan(3, { idempotencyKey: 'my secret key', ...options });
      const deduplication = { id: hashKey('my secret key'), ttl: WINDOW + waits };
      expect(job.opts.deduplication).toEqual(deduplication);
      expect(JSON.stringify(job)).not.toContain('my secret key');
    }
  });
});

describe('fingerprint', () => {
  const extra = { a: 1, b: [1, 2] };
  const base = { templateCode: 'T', fields: { extra }, contacts: contacts(3) };
  const print = (notice: object) => fingerprint(readNotice(notice), 'a secret');

  it('does not depend on the order of fields, and leaves undefined ones out', () => {
    const { templateCode, contacts: list } = base;
    const fields = { extra: { b: extra.b, a: extra.a } };
    const turned = { contacts: list, fields, templateCode };
    expect(print({ ...turned, senderKey: undefined })).toBe(print(base));
    expect(print({ ...base, scheduleType: 'DIRECTLY' })).toBe(print(base));
  });

  it.each([
    ['a template code', { ...base, templateCode: 'U' }],
    ['a schedule type', { ...base, scheduleType: 'SCHEDULED' }],
    ['a sender key', { ...base, senderKey: 's' }],
    ['an unknown field', { ...base, fields: { extra: { a: 1, b: [2, 1] } } }],
    ['the type of a value', { ...base, fields: { extra: { a: '1', b: [1, 2] } } }],
    ['a contact more', { ...base, contacts: contacts(4) }],
    ['the order of contacts', { ...base, contacts: contacts(3).reverse() }],
    ['a variable', { ...base, contacts: [{ contact: '0', var1: 'x' }] }],
    [
      'where a contact ends',
      { ...base, contacts: [{ contact: '0' }, { contact: '1', fields: { a: 2 } }] },
    ],
  ])('depends on %s', (_, notice) => {
    expect(print(notice)).not.toBe(print(base));
  });
});

it('a fingerprint depends on the secret of the account', () => {
  const notice = readNotice({ templateCode: 'T', contacts: contacts(1) });
  expect(fingerprint(notice, 'one')).not.toBe(fingerprint(notice, 'other'));
});

describe('judge', () => {
  const keyed = { idempotencyKey: 'k' };
  const first = plan(5, keyed);

  it('knows itself, and an earlier call with the same content', () => {
    const unkeyed = plan();
    expect(judge(first, first.opts.jobId)).toBe('new');
    expect(judge(unkeyed, unkeyed.opts.jobId)).toBe('new');
    expect(judge(plan(5, keyed), first.opts.jobId)).toBe('duplicate');
  });

  it.each([
    ['another content', plan(5, keyed, 'U').opts.jobId],
    ['a notice without a key', `n-${'x'.repeat(16)}`],
    ['a job of another program', '17'],
    ['no answer', ''],
  ])('finds a conflict in %s', (_, heldId) => {
    expect(judge(first, heldId)).toBe('conflict');
    expect(judge(plan(), heldId)).toBe('conflict');
  });
});

import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { chunkJobId, jobSchema, readChunkJob, readJobData } from '../../src/contracts/job.ts';
import { contactSchema, noticeSchema } from '../../src/contracts/notice.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { publishedSchema } from '../producer/support/stored-jobs.ts';

const notice = { templateCode: 'T', scheduleType: 'DIRECTLY', contacts: [{ contact: '010' }] };
const good = { v: 1, notice };

const withContact = (contact: unknown) => ({
  ...good,
  notice: { ...notice, contacts: [{ contact: '010' }, contact] },
});

function refusal(data: unknown): string {
  try {
    readJobData(data);
  } catch (error) {
    if (error instanceof NoticeQueueError && error.code === 'JOB_INVALID') return error.message;
    throw error;
  }
  return 'taken';
}

describe('readJobData', () => {
  it.each([
    { data: null, message: 'no data object' },
    { data: undefined, message: 'no data object' },
    { data: [good], message: 'no data object' },
    { data: { ...good, v: 3 }, message: 'version 3, this worker knows up to 2' },
    { data: { ...good, v: '1' }, message: 'version none' },
    { data: { v: 1 }, message: 'no notice' },
    { data: { v: 1, notice: [] }, message: 'no notice' },
    { data: { v: 1, notice: { ...notice, templateCode: ' ' } }, message: 'no template code' },
    { data: { v: 1, notice: { ...notice, senderKey: null } }, message: 'The senderKey of the job' },
    { data: withContact({ contact: '010-1234' }), message: 'Contact 1 of the job' },
    { data: withContact(JSON.parse('{"__proto__":{"contact":"010"}}')), message: 'Contact 1' },
    { data: { ...good, expiresAt: 0 }, message: 'expiresAt' },
    { data: { ...good, expiresAt: null }, message: 'expiresAt' },
  ])('refuses $data: $message', ({ data, message }) => {
    expect(refusal(data)).toContain(message);
  });

  it('refuses a notice that is nested too deeply or too large, and takes any that a producer takes', () => {
    const nested = (levels: number): unknown =>
      Array.from({ length: levels }).reduce((inner) => [inner], 'x');
    const contact = (x: unknown) => ({
      ...good,
      notice: { ...notice, contacts: [{ contact: '010', x }] },
    });
    expect(refusal(contact(nested(32)))).toBe('taken');
    expect(refusal(contact(nested(33)))).toContain('nested too deeply');
    expect(refusal({ ...good, notice: { ...notice, x: nested(20_000) } })).toContain('nested');
    // It is walked once, not once for each of 2^33 ways through it.
    const twice: Record<string, unknown> = {};
    Object.assign(twice, { one: twice, other: twice });
    expect(refusal({ ...good, notice: { ...notice, x: twice } })).toContain('nested');
    expect(refusal({ ...good, notice: { ...notice, x: [twice, twice] } })).toContain('nested');
    const million = 'x'.repeat(1024 * 1024);
    const many = (count: number) => contact(Array.from({ length: count }, () => million));
    expect(refusal(many(255))).toBe('taken');
    expect(refusal(many(256))).toContain('too large');
  });

  it('takes a job as it is, without a copy', () => {
    const job = { ...good, expiresAt: 5 };
    expect(readJobData(job)).toBe(job);
  });

  it('fills in the default that the published schema names', () => {
    const { scheduleType: _, ...frame } = notice;
    const job = JSON.parse(JSON.stringify({ v: 1, notice: { ...frame, x: 1 } })) as object;
    const filled = publishedSchema().parse(job);
    expect(filled).toEqual({ v: 1, notice: { ...notice, x: 1 } });
    expect(readJobData(job)).toEqual(filled);
  });
});

describe('the published contract agrees with the one in code on', () => {
  const published = publishedSchema();
  it.each([
    [true, good],
    [true, { ...good, expiresAt: 1 }],
    [true, { v: 1, notice: { templateCode: 'T', contacts: [{ contact: '0', var1: '', x: [] }] } }],
    [true, { v: 1, notice: { ...notice, at: '2030', deep: { a: null } } }],
    [false, { ...good, v: 2 }],
    [false, { ...good, extra: 1 }],
    [false, { ...good, expiresAt: '1' }],
    [false, { v: 1 }],
    [false, { v: 1, notice: { ...notice, templateCode: '  ' } }],
    [false, { v: 1, notice: { ...notice, contacts: [] } }],
    [false, { v: 1, notice: { ...notice, contacts: [{ contact: '010-1' }] } }],
    [false, { v: 1, notice: { ...notice, contacts: [{ contact: '0', var1: 1 }] } }],
  ])('%s for %j', (taken, job) => {
    expect(published.safeParse(job).success).toBe(taken);
    expect(jobSchema.safeParse(job).success).toBe(taken);
  });

  it.each(['var1', 'var12', 'var0', 'var', 'xvar1', 'var1x', 'Var1', 'name'])(
    'whether %s is text, and how long',
    (field) => {
      const taken = [published, jobSchema].map((schema) =>
        [1, 'x'.repeat(4_096), 'x'.repeat(4_097)].map((value) => {
          const contacts = [{ contact: '010', [field]: value }];
          return schema.safeParse({ ...good, notice: { ...notice, contacts } }).success;
        }),
      );
      expect(taken[0]).toEqual(taken[1]);
      expect(taken[0]).toEqual(
        /^var[1-9]/.test(field) && field !== 'var1x' ? [false, true, false] : [true, true, true],
      );
    },
  );
});

it('every documented field has a description, for producers in other languages', () => {
  const fields: Record<string, z.ZodType> = {
    ...jobSchema.shape,
    ...noticeSchema.shape,
    ...contactSchema.shape,
  };
  const silent = Object.entries(fields).filter(([, schema]) => schema.description === undefined);
  expect(silent.map(([name]) => name)).toEqual([]);
  expect(Object.keys(noticeSchema.shape)).toEqual([
    'templateCode',
    'scheduleType',
    'chatSenderKey',
    'senderKey',
    'contacts',
  ]);
});

it('a chunk job names a batch and a chunk', () => {
  const data = { v: 1, batch: 'b-1_A', chunk: 0 };
  expect(readChunkJob(data)).toStrictEqual(data);
  expect(chunkJobId({ batch: 'b-1_A', chunk: 12 })).toBe('c-b-1_A-12');
});

it.each([
  [{ v: 2, batch: 'b', chunk: 0 }, /has version 2, this worker knows 1/],
  [{ v: 1, batch: 'a:b', chunk: 0 }, /has no batch and chunk/],
  [{ v: 1, batch: 'b'.repeat(65), chunk: 0 }, /has no batch and chunk/],
  [{ v: 1, batch: 'b', chunk: -1 }, /has no batch and chunk/],
  [{ v: 1, batch: 'b', chunk: 0, contacts: [] }, /has no batch and chunk/],
  [{ v: 1, batch: 'b' }, /has no batch and chunk/],
  [null, /has no batch and chunk/],
  ['x', /has no batch and chunk/],
])('%j is refused', (data, message) => {
  expect(() => readChunkJob(data)).toThrow(
    expect.objectContaining({
      code: 'JOB_INVALID',
      message: expect.stringMatching(message) as unknown,
    }),
  );
});

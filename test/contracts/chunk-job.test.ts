import { expect, it } from 'vitest';
import { chunkJobId, readChunkJob } from '../../src/contracts/job.ts';

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

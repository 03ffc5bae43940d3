import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { gunzipped } from '../../../src/batch/source/gunzip.ts';
import { until } from '../../support/wait.ts';
import { piecesOf } from '../support/pieces.ts';

/** The bytes in pieces of these sizes, over and over again; counts how often it was closed. */
function source(bytes: Buffer, sizes: readonly number[], end?: Error) {
  const state = { closed: 0 };
  async function* pieces() {
    try {
      for (const piece of piecesOf(bytes, sizes)) yield await Promise.resolve(piece);
      if (end !== undefined) throw end;
    } finally {
      state.closed++;
    }
  }
  return { state, pieces: pieces() };
}

async function read(pieces: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const piece of gunzipped(pieces)) all.push(piece);
  return Buffer.concat(all).toString();
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), {
  minLength: 1,
  maxLength: 4,
});

it('reads all members and the zero bytes after the last, however they are cut', async () => {
  const members = fc.array(fc.string({ maxLength: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(members, fc.nat({ max: 60 }), sizes, async (list, zeros, cut) => {
      const bytes = [...list.map((text) => gzipSync(text)), Buffer.alloc(zeros)];
      const expected = Buffer.from(list.join('')).toString();
      const { state, pieces } = source(Buffer.concat(bytes), cut);
      expect(await read(pieces)).toBe(expected);
      expect(state.closed).toBe(1);
    }),
    { numRuns: 200 },
  );
});

it('refuses what is cut off anywhere, or followed by anything else', async () => {
  const first = gzipSync('contact\n');
  const bytes = Buffer.concat([first, gzipSync('01000000101\n')]);
  for (let length = first.length + 1; length < bytes.length; length++) {
    await expect(read(source(bytes.subarray(0, length), [7]).pieces)).rejects.toThrow(/cut off/);
  }
  for (const more of ['x', '\0x', '\0\0more', `\0${first.toString('latin1')}`]) {
    const followed = Buffer.concat([bytes, Buffer.from(more)]);
    await expect(read(source(followed, [7]).pieces)).rejects.toThrow(/damaged/);
  }
});

it('fails as its source does, and closes it when its reader stops', async () => {
  const bytes = gzipSync('x'.repeat(10_000_000));
  const broken = new Error('the disk is gone');
  await expect(read(source(bytes.subarray(0, 500), [100], broken).pieces)).rejects.toBe(broken);
  const { state, pieces } = source(bytes, [100]);
  for await (const piece of gunzipped(pieces)) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  await until(() => state.closed === 1, { what: 'the source to be closed' });
});

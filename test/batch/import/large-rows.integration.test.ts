import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { numberOf } from '../support/csv-list.ts';
import { importWorld, listFile } from '../support/import-world.ts';
import { piecesOf } from '../support/pieces.ts';

const redis = testRedis();

const LARGEST_CHUNK_BYTES = 16 * 1024 * 1024;

it.each([
  ['of 8 kB', 2_200, 8_000],
  ['of 900 kB', 20, 900_000],
])(
  'a chunk of rows %s ends before it is too large for a worker, at the same row however the list is read',
  async (_, count, length) => {
    const world = importWorld(redis);
    const note = 'x'.repeat(length);
    const rows = Array.from({ length: count }, (_row, index) => `${numberOf(index)},${note}\n`);
    const text = `contact,note\n${rows.join('')}`;
    const options = { chunkSize: 10_000, passThrough: true };
    const sizesOf = async (id: string) => {
      const batch = await world.ledger.read(id);
      const chunks = Array.from({ length: batch?.chunks ?? 0 }, (_chunk, index) => String(index));
      const plan = { id, chunkSize: batch?.chunkSize ?? 0 };
      return Promise.all(chunks.map((chunk) => world.ledger.sizeOf(plan, chunk)));
    };
    const whole = await world.import(listFile(text), { ...options, batchId: 'file' });
    expect(whole).toMatchObject({ contacts: count, chunks: 2 });
    const sizes = await sizesOf('file');
    const jsonLength = JSON.stringify({ contact: numberOf(0), note }).length + 1;
    expect(Math.max(...sizes) * jsonLength).toBeLessThan(LARGEST_CHUNK_BYTES + jsonLength);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(count);
    const pieces = piecesOf(Buffer.from(text), [70_001]);
    const stream = Readable.from(pieces, { objectMode: false });
    await world.import(stream, { ...options, batchId: 'stream', again: true });
    expect(await sizesOf('stream')).toEqual(sizes);
  },
  90_000,
);

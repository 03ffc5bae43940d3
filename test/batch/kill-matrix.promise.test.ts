import { describe, expect, it } from 'vitest';
import { killMatrix } from './support/kill-matrix.ts';

describe('a small batch while everything is killed', () => {
  const { play } = killMatrix();

  it('at-most-once: nothing is lost, nothing is sent twice, and it adds up', async () => {
    const size = { contacts: 5_000, chunk: 10, kills: 4, redisRestarts: 1 };
    expect(await play('at-most-once', size)).toEqual({ lost: [], wrongSums: [] });
  }, 120_000);
});

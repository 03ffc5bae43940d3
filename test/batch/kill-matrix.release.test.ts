import { describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/outcome.ts';
import { killMatrix } from './support/kill-matrix.ts';

describe('a batch while everything is killed', () => {
  const { play } = killMatrix();

  it.each(DELIVERY_POLICIES)(
    '%s, with the end of its sending hours between: nothing is lost, and it adds up',
    async (delivery) => {
      const size = { contacts: 100_000, chunk: 100, kills: 20, redisRestarts: 2 };
      const played = await play(delivery, { ...size, isInterrupted: true });
      expect(played).toEqual({ lost: [], wrongSums: [] });
    },
    500_000,
  );
});

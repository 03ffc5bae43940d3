import { describe, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/delivery.ts';
import { killMatrix } from './support/kill-matrix.ts';

describe('a batch while everything is killed', () => {
  const { play } = killMatrix();

  it.each(DELIVERY_POLICIES)(
    '%s: nothing is lost, and it adds up',
    (delivery) => play(delivery, { contacts: 100_000, chunk: 100, kills: 20, redisRestarts: 2 }),
    400_000,
  );
});

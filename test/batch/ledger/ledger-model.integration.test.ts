import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { walkLedger } from '../support/ledger-walk.ts';

const redis = testRedis();

it('adds up after every operation', async () => {
  await expect(walkLedger(redis, 15, 1)).resolves.toBeUndefined();
}, 120_000);

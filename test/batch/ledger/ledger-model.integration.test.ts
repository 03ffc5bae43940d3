import { it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { walkLedger } from '../support/ledger-pair.ts';

const redis = testRedis();

it('adds up after every operation', () => walkLedger(redis, 10, 1), 60_000);

import { Redis } from 'ioredis';
import { keysOf } from '../../src/redis/keys.ts';
import type { Fleet } from './fleet.ts';
import { until } from './wait.ts';

/**
 * Waits until every running worker of a fleet has made so many more heartbeats: what follows is also true
 * after the workers had time to act.
 */
export async function heartbeats(fleet: Fleet, rounds: number): Promise<void> {
  const redis = new Redis(fleet.env['REDIS_URL'] ?? '');
  const { epoch } = keysOf(fleet.prefix, 'default');
  const beats = async () => Number(await redis.hget(epoch, 'beats'));
  try {
    const wanted = (await beats()) + rounds * fleet.workers.filter(({ gone }) => !gone).length;
    await until(async () => (await beats()) >= wanted, {
      what: `${rounds} heartbeats of each worker`,
      deadlineMs: 30_000,
    });
  } finally {
    redis.disconnect();
  }
}

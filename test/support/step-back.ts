import type { Redis } from 'ioredis';
import type { Keys } from '../../src/redis/keys.ts';

/**
 * Makes the keys of an account those of a Redis whose clock went back: every time that they contain, and every
 * lifetime, ends later by as much. It is the same as a step of the clock, which no test can make: the machine has one.
 */
export async function stepClockBack(redis: Redis, keys: Keys, ms: number): Promise<void> {
  const times: readonly (readonly [key: string, fields: readonly string[]])[] = [
    [keys.rateLimit, ['nextAt', 'fellAt', 'risesFrom']],
    [keys.epoch, ['bornAt', 'at']],
  ];
  for (const [key, fields] of times) {
    for (const field of fields) {
      const at = Number(await redis.hget(key, field));
      if (at > 0) await redis.hset(key, field, String(at + ms));
    }
  }
  for (const [scope, text] of Object.entries(await redis.hgetall(keys.hold))) {
    if (!text.startsWith('{')) continue;
    const { since, next, at, ...held } = JSON.parse(text) as Record<
      'since' | 'next' | 'at',
      number
    >;
    const later = { ...held, since: since + ms, next: next + ms, at: at + ms };
    await redis.hset(keys.hold, scope, JSON.stringify(later));
  }
  for (const id of await redis.zrange(keys.openBatches, '0', '-1')) {
    await redis.zincrby(keys.openBatches, ms, id);
  }
  for (const key of [keys.workers, keys.turns]) {
    for (const [name, text] of Object.entries(await redis.hgetall(key))) {
      const later = text.replace(/^\d{13}(?= )/, (at) => String(Number(at) + ms));
      await redis.hset(key, name, later);
    }
  }
  for (const key of await redis.keys(`${keys.bullPrefix.replace(/[[\]*?\\]/g, '\\$&')}*`)) {
    const rest = await redis.pttl(key);
    if (rest > 0) await redis.pexpire(key, rest + ms);
  }
}

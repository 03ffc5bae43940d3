import type { Redis } from 'ioredis';
import type { TokenKeys } from '../../../src/redis/keys.ts';
import type { RecordState } from './decide-acquire.ts';
import { redisTime } from './world.ts';

/** Writes a state of the token record, replacing the previous one. */
export async function writeState(redis: Redis, keys: TokenKeys, state: RecordState): Promise<void> {
  const now = await redisTime(redis);
  const { refusal, liftedMsAgo, token, lock, fence, issued = [], tried } = state;
  const write = redis.multi();
  write.del(
    keys.current,
    keys.lock,
    keys.fence,
    keys.refused,
    keys.issued,
    keys.tried,
    keys.lifted,
  );

  if (token !== undefined) {
    const fields: Record<string, string | number> = {
      id: token.id,
      sealed: 'a sealed text',
      issuedAt: now - token.ageMs,
      expiresAt: token.restMs === undefined ? '' : now + token.restMs,
      fence: token.fence,
      issuer: 'host:1',
    };
    if (token.earlyInMs !== undefined) fields['earlyAfter'] = now + token.earlyInMs;
    if (token.garbled === 'expiresAt') fields['expiresAt'] = '1e999';
    else if (token.garbled !== undefined) delete fields[token.garbled];
    write.hset(keys.current, fields);
  }
  if (refusal !== undefined) {
    const { code, ageMs, restMs } = refusal;
    write.hset(keys.refused, { code, at: now - ageMs, until: now + restMs });
  }
  if (liftedMsAgo !== undefined) write.set(keys.lifted, now - liftedMsAgo);
  if (lock !== undefined) {
    write.set(keys.lock, 'another');
    if (lock !== 'none') write.pexpire(keys.lock, lock);
  }
  if (fence !== undefined) write.set(keys.fence, fence);
  for (const [index, age] of issued.entries()) write.zadd(keys.issued, now - age, `i${index}`);
  if (tried !== undefined) write.zadd(keys.tried, now + tried.restMs, tried.refusal);
  await write.exec();
}

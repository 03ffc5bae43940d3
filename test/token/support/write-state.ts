import type { Redis } from 'ioredis';
import type { TokenKeys } from '../../../src/redis/keys.ts';
import type { SlotState, Ttl } from './decide-acquire.ts';
import { redisTime } from './world.ts';

/** Writes a state of the token record, replacing the previous one. */
export async function writeState(redis: Redis, keys: TokenKeys, state: SlotState): Promise<void> {
  const now = await redisTime(redis);
  const { refusal, token, lock, fence, issued = [], uncured, evidence, deaths = [] } = state;
  const write = redis.multi();
  write.del(keys.current, keys.lock, keys.fence, keys.refused, keys.streak, keys.issued);
  write.del(keys.uncured, keys.evidence, keys.deaths);
  const expire = (key: string, ttl: Ttl) => ttl !== 'none' && write.pexpire(key, ttl);

  if (token !== undefined) {
    const fields: Record<string, string | number> = {
      id: token.id,
      sealed: 'a sealed text',
      issuedAt: now - token.ageMs,
      expiresAt: token.restMs === undefined ? '' : now + token.restMs,
      fence: token.fence,
      issuer: 'host:1',
      proven: token.proven === true ? 1 : 0,
      unproven: token.unproven ?? 0,
    };
    if (token.contested === true) fields['contested'] = 1;
    if (token.earlyInMs !== undefined) fields['earlyAfter'] = now + token.earlyInMs;
    if (token.garbled === 'expiresAt') fields['expiresAt'] = '1e999';
    else if (token.garbled !== undefined) delete fields[token.garbled];
    write.hset(keys.current, fields);
  }
  if (refusal !== undefined) {
    write.hset(keys.refused, { kind: refusal.kind, code: refusal.code });
    expire(keys.refused, refusal.ttl);
  }
  if (lock !== undefined) {
    write.set(keys.lock, 'another');
    expire(keys.lock, lock);
  }
  if (fence !== undefined) write.set(keys.fence, fence);
  for (const [index, age] of issued.entries()) write.zadd(keys.issued, now - age, `i${index}`);
  for (const [index, age] of deaths.entries()) write.zadd(keys.deaths, now - age, `d${index}`);
  if (uncured !== undefined) {
    const { status, code, ageMs, distanceMs } = uncured;
    write.hset(keys.uncured, `${status} ${code}`, `${now - ageMs} ${distanceMs}`);
  }
  if (evidence !== undefined) {
    const { askedMsAgo, row } = evidence;
    write.hset(keys.evidence, { askedAt: askedMsAgo < 0 ? 0 : now - askedMsAgo, refusedRow: row });
  }
  await write.exec();
}

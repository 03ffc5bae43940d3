import type { Redis } from 'ioredis';
import type { TokenKeys } from '../../../src/redis/keys.ts';
import type { RecordState } from './decide-acquire.ts';

/** The token record as it is stored; what is not there is empty. */
export interface StoredRecord {
  token: Record<string, string | number>;
  lock: { nonce?: string; until?: number };
  fence?: number;
  refusal: { code?: string; at?: number; until?: number; failures?: number };
  issued: Record<string, number>;
  tried: Record<string, number>;
}

export async function readRecord(redis: Redis, keys: TokenKeys): Promise<StoredRecord> {
  const stored = JSON.parse((await redis.get(keys.record)) ?? '{}') as Partial<StoredRecord>;
  return { token: {}, lock: {}, refusal: {}, issued: {}, tried: {}, ...stored };
}

export async function changeRecord(
  redis: Redis,
  keys: TokenKeys,
  change: (record: StoredRecord) => void,
): Promise<void> {
  const record = await readRecord(redis, keys);
  change(record);
  await redis.set(keys.record, JSON.stringify(record));
}

/** Ends the lock, as time would. */
export const dropLock = (redis: Redis, keys: TokenKeys) =>
  changeRecord(redis, keys, (record) => (record.lock = {}));

/** Milliseconds of Redis time, since the epoch. */
export async function redisTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Writes a state of the token record, replacing the previous one. */
export async function writeState(redis: Redis, keys: TokenKeys, state: RecordState): Promise<void> {
  const now = await redisTime(redis);
  const { refusal, liftedMsAgo, token, lock, fence, issued = [], tried } = state;
  const record: Partial<StoredRecord> = {};
  if (token !== undefined) {
    const { id, ageMs, restMs, fence: of, earlyInMs, garbled } = token;
    const fields: Record<string, string | number> = {
      id,
      sealed: 'a sealed text',
      issuedAt: now - ageMs,
      fence: of,
      issuer: 'host:1',
      ...(restMs === undefined ? {} : { expiresAt: now + restMs }),
      ...(earlyInMs === undefined ? {} : { earlyAfter: now + earlyInMs }),
    };
    if (garbled === 'expiresAt') fields['expiresAt'] = '1e999';
    else if (garbled !== undefined) delete fields[garbled];
    record.token = fields;
  }
  if (refusal !== undefined) {
    const { code, ageMs, restMs } = refusal;
    record.refusal = { code, at: now - ageMs, until: now + restMs };
  }
  if (lock !== undefined) {
    record.lock = { nonce: 'another', ...(lock === 'none' ? {} : { until: now + lock }) };
  }
  if (fence !== undefined) record.fence = fence;
  record.issued = Object.fromEntries(issued.map((age, index) => [`i${index}`, now - age]));
  if (tried !== undefined) record.tried = { [tried.refusal]: now + tried.restMs };
  const write = redis.multi().del(keys.hold).set(keys.record, JSON.stringify(record));
  if (liftedMsAgo !== undefined) write.hset(keys.hold, 'lifted', now - liftedMsAgo);
  await write.exec();
}

import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Redis } from 'ioredis';
import type { Written } from './search.ts';

/** How each type of Redis is read; a type that is not here fails the test. */
const READERS: Readonly<Record<string, (redis: Redis, key: string) => Promise<unknown>>> = {
  string: (redis, key) => redis.getBuffer(key),
  hash: (redis, key) => redis.hgetallBuffer(key),
  list: (redis, key) => redis.lrangeBuffer(key, 0, -1),
  set: (redis, key) => redis.smembersBuffer(key),
  zset: (redis, key) => redis.zrangeBuffer(key, 0, '-1', 'WITHSCORES'),
  stream: (redis, key) => redis.xrangeBuffer(key, '-', '+'),
};

/** Every key of a Redis with everything that it holds; each value is one thing that was written. */
export async function readRedis(redis: Redis, place: string, keys = '*'): Promise<Written[]> {
  const written: Written[] = [];
  for (const key of await redis.keys(keys)) {
    const type = await redis.type(key);
    const read = READERS[type];
    if (read === undefined && type !== 'none') throw new Error(`${key} is a ${type}`);
    const values = [Buffer.from(key), ...buffersIn(await read?.(redis, key))];
    written.push(...values.map((bytes) => ({ place, bytes, key })));
  }
  return written;
}

/** What the slow log has of the commands since it was read last, each text once; it is emptied. */
export async function readSlowLog(redis: Redis, place: string): Promise<Written> {
  const entries = buffersIn(await redis.callBuffer('SLOWLOG', 'GET', 1_000_000));
  await redis.call('SLOWLOG', 'RESET');
  const texts = new Set(entries.map((bytes) => bytes.toString('latin1')));
  return { place, bytes: Buffer.from([...texts].join('\n'), 'latin1') };
}

function buffersIn(value: unknown): Buffer[] {
  if (Buffer.isBuffer(value)) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    ...(Array.isArray(value) ? [] : [Buffer.from(name)]),
    ...buffersIn(one),
  ]);
}

/** Every file below a folder. */
export function readFiles(folder: string, place: string): Written[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.flatMap((name) => {
    const file = path.join(folder, name);
    if (!statSync(file).isFile()) return [];
    return [Buffer.from(name), readFileSync(file)].map((bytes) => ({ place, bytes }));
  });
}

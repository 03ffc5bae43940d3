import type { RedisClient } from '../../redis/connect.ts';

/** What a Redis says of its memory and persistence. Sizes are bytes. */
export interface RedisHealth {
  readonly memory: number;
  /** `maxmemory`, else the memory of the machine; absent where neither is told. */
  readonly memoryLimit?: number;
  readonly evicts: boolean;
  readonly aof: boolean;
  readonly persistenceOk: boolean;
}

/** Reads it with two commands. On a cluster it is that of one node. */
export async function readRedisHealth(redis: RedisClient): Promise<RedisHealth> {
  const [memory, persistence] = await Promise.all([
    redis.info('memory'),
    redis.info('persistence'),
  ]);
  return redisHealth(`${memory}\n${persistence}`);
}

/** Reads it from the text of INFO. */
export function redisHealth(info: string): RedisHealth {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const limit = Number(field('maxmemory')) || Number(field('total_system_memory'));
  const policy = field('maxmemory_policy');
  const failed = (name: string) => field(name) !== '' && field(name) !== 'ok';
  return {
    memory: Number(field('used_memory')),
    ...(limit > 0 ? { memoryLimit: limit } : {}),
    evicts: policy !== '' && policy !== 'noeviction',
    aof: field('aof_enabled') === '1',
    persistenceOk: !failed('rdb_last_bgsave_status') && !failed('aof_last_write_status'),
  };
}

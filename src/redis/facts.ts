import { z } from 'zod';
import { count, type Answer } from '../contracts/answer.ts';
import type { RedisClient } from './connect.ts';
import { translated } from './failure.ts';

/** What a Redis server reports about itself. Managed services hide some of it. */
export const redisFacts = z.object({
  version: z.string(),
  policy: z.string().describe('maxmemory-policy; empty when unknown'),
  /**
   * What survives a crash: `aof`, all but about a second; `rdb`, the last snapshot; `none`, nothing. Without permission for
   * CONFIG, a snapshot since the start of the server shows that there are some.
   */
  persistence: z.enum(['aof', 'rdb', 'none', 'unknown']),
  saveFailed: z.boolean().describe('its last write to its disk failed'),
  usedBytes: count,
  maxBytes: count.describe('maxmemory; 0 when there is none or it is unknown'),
  machineBytes: count.describe('memory of its machine; 0 when unknown'),
  role: z.enum(['master', 'replica', 'unknown']),
});

export type RedisFacts = Answer<z.output<typeof redisFacts>>;

/**
 * Reads the facts. INFO needs no admin permission; without permission for CONFIG it is unknown whether
 * snapshots are made until there was one.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readRedisFacts(redis: RedisClient): Promise<RedisFacts> {
  const info = await translated(redis.info());
  const isLogged = fieldOf(info, 'aof_enabled') === '1';
  return factsFrom(info, isLogged ? '' : await translated(snapshotsOf(redis)));
}

/** The limit of memory (`maxmemory`, 0 without one), and what Redis compares with it, in bytes. */
export async function readMemory(
  redis: RedisClient,
): Promise<{ readonly used: number; readonly max: number }> {
  const info = await redis.info('memory');
  const bytes = (name: string) => Number(fieldOf(info, name)) || 0;
  return {
    used: bytes('used_memory') - bytes('mem_not_counted_for_evict'),
    max: bytes('maxmemory'),
  };
}

/** Reads the answer of INFO. @param snapshots the setting `save`; undefined when unknown */
export function factsFrom(info: string, snapshots: string | undefined): RedisFacts {
  const field = (name: string) => fieldOf(info, name);
  const role = field('role');
  return {
    version: field('redis_version'),
    policy: field('maxmemory_policy'),
    persistence: persistenceOf(field, snapshots),
    saveFailed: ['aof_last_write_status', 'rdb_last_bgsave_status'].some(
      (name) => field(name) === 'err',
    ),
    usedBytes: Number(field('used_memory')) || 0,
    maxBytes: Number(field('maxmemory')) || 0,
    machineBytes: Number(field('total_system_memory')) || 0,
    role: role === 'master' ? 'master' : role === 'slave' ? 'replica' : 'unknown',
  };
}

function persistenceOf(field: (name: string) => string, snapshots: string | undefined) {
  const aofEnabled = field('aof_enabled');
  if (aofEnabled === '1') return 'aof';
  if (aofEnabled === '') return 'unknown';
  if (snapshots === undefined) return hasSnapshot(field) ? 'rdb' : 'unknown';
  return snapshots === '' ? 'none' : 'rdb';
}

/** Whether a snapshot was made since the start of the server. Redis 6.2 counts none, but has the last one's duration. */
function hasSnapshot(field: (name: string) => string): boolean {
  const saves = field('rdb_saves');
  return saves === '' ? Number(field('rdb_last_bgsave_time_sec') || -1) >= 0 : Number(saves) > 0;
}

async function snapshotsOf(redis: RedisClient): Promise<string | undefined> {
  try {
    const [, save] = await redis.config('GET', 'save');
    return save;
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return undefined;
    throw error;
  }
}

const fieldOf = (info: string, name: string) =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

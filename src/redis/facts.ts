import { Cluster } from 'ioredis';
import type { RedisClient } from './connect.ts';
import { redisFailure } from './failure.ts';
import type { Keys } from './keys.ts';
import { defineScript } from './script.ts';

/** What a Redis says of itself. Managed services hide some of it; that is never held against them. */
export interface RedisFacts {
  readonly version: string;
  /** `maxmemory-policy`; empty where the server does not say. */
  readonly policy: string;
  /**
   * What survives a crash: `aof`, all but about a second; `rdb`, what was there at the last snapshot;
   * `none`, nothing; `unknown` where the server does not say.
   */
  readonly persistence: 'aof' | 'rdb' | 'none' | 'unknown';
  /** Its last write to the append-only file, or its last snapshot, failed. */
  readonly saveFailed: boolean;
  /** Bytes in use, and the bound on them (`maxmemory`); 0 where there is none or it is not said. */
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** Memory of its machine; 0 where it is not said. */
  readonly machineBytes: number;
  /** `unknown` where the server does not say. */
  readonly role: 'master' | 'replica' | 'unknown';
}

/** A cluster sends INFO to any node; as a script it goes to the one that holds the account. */
const infoOfAccount = defineScript({
  name: 'info',
  keys: 1,
  lua: `return redis.call('INFO')`,
  parse: String,
});

/**
 * Reads what Redis says of itself. INFO needs no admin permission; where CONFIG is denied, whether
 * snapshots are taken is not known.
 *
 * @param keys which node of a Cluster is meant: the one that holds the account's keys
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readRedisFacts(
  redis: RedisClient,
  keys?: Pick<Keys, 'hold'>,
): Promise<RedisFacts> {
  try {
    const info =
      redis instanceof Cluster && keys !== undefined
        ? await infoOfAccount(redis, [keys.hold], [])
        : await redis.info();
    const snapshots = fieldOf(info, 'aof_enabled') === '1' ? '' : await snapshotsOf(redis);
    return factsFrom(info, snapshots);
  } catch (error) {
    throw redisFailure(error);
  }
}

/** @param snapshots the setting `save`; undefined where it is not known */
export function factsFrom(info: string, snapshots: string | undefined): RedisFacts {
  const field = (name: string) => fieldOf(info, name);
  const role = field('role');
  return {
    version: field('redis_version'),
    policy: field('maxmemory_policy'),
    persistence: persistenceOf(field('aof_enabled'), snapshots),
    saveFailed: ['aof_last_write_status', 'rdb_last_bgsave_status'].some(
      (name) => field(name) === 'err',
    ),
    usedBytes: Number(field('used_memory')) || 0,
    maxBytes: Number(field('maxmemory')) || 0,
    machineBytes: Number(field('total_system_memory')) || 0,
    role: role === 'master' ? 'master' : role === 'slave' ? 'replica' : 'unknown',
  };
}

function persistenceOf(aofEnabled: string, snapshots: string | undefined) {
  if (aofEnabled === '1') return 'aof';
  if (aofEnabled === '' || snapshots === undefined) return 'unknown';
  return snapshots === '' ? 'none' : 'rdb';
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

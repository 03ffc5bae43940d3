import { Cluster } from 'ioredis';
import type { RedisClient } from './connect.ts';

/** Keys per SCAN: a few milliseconds of the server's time. */
const STEP = 2_000;

/**
 * The keys that match a pattern, page by page; a key may come twice. Scans all keys of the server in steps.
 *
 * @param pattern of SCAN; its keys share one hash tag
 */
export async function* scanKeys(
  redis: RedisClient,
  pattern: string,
): AsyncGenerator<readonly string[]> {
  const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
  for (const node of nodes) {
    let cursor = '0';
    do {
      const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
      if (keys.length > 0) yield keys;
      cursor = next;
    } while (cursor !== '0');
  }
}

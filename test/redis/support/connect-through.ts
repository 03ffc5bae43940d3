import { onTestFinished } from 'vitest';
import { connectRedis, type ConnectionRole } from '../../../src/redis/connect.ts';
import { faultProxyOf } from '../../support/fault-proxy.ts';

/** A connection of ours through a proxy that breaks it on command; both end with the test. */
export async function connectThrough(
  redisUrl: string,
  role: ConnectionRole,
  commandTimeoutMs?: number,
) {
  const proxy = await faultProxyOf(redisUrl);
  const settings = { url: proxy.url, sentinels: [], connectTimeoutMs: 1_000 };
  const client = connectRedis(settings, role, () => {}, commandTimeoutMs);
  onTestFinished(() => client.disconnect());
  return { proxy, client };
}

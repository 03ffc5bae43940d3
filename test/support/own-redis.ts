import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import type { AtEnd } from './temporary.ts';

/** A Redis of its own, which the test may fill, freeze or kill, and a connection to it. Both end with the test. */
export async function ownRedis(
  options?: Parameters<typeof startRedisServer>[0],
  atEnd: AtEnd = onTestFinished,
) {
  const server = await startRedisServer(options);
  // One that writes its first append-only file takes seconds to end in good order.
  atEnd(() => server.kill('SIGKILL').then(() => server.close()));
  const client = new Redis(server.url, { maxRetriesPerRequest: 1, lazyConnect: true });
  client.on('error', () => {});
  atEnd(() => client.disconnect());
  return { server, url: server.url, client };
}

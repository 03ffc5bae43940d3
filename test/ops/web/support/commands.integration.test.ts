import { expect, it } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis/redis-server.ts';
import { Redis } from 'ioredis';
import { commandsByName, commandsOf } from './commands.ts';

it('subcommands are counted as one command, whatever was called before', async () => {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  try {
    const before = await commandsOf(server.url);
    for (const name of ['save', 'dir', 'port']) await redis.config('GET', name);
    await redis.config('SET', 'save', '');
    await redis.get('none');
    expect(await commandsOf(server.url)).toBe(before + 5);
    const byName = (await commandsByName(server.url)).filter(([name]) => name === 'config');
    expect(byName).toEqual([['config', 4]]);
  } finally {
    redis.disconnect();
    await server.close();
  }
});

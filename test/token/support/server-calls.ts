import type { Redis } from 'ioredis';

/** Scripts run by the server so far. */
export async function scriptCalls(redis: Redis): Promise<number> {
  const calls = await callsByCommand(redis);
  return (calls.get('evalsha') ?? 0) + (calls.get('eval') ?? 0);
}

/** Commands run by the server so far, but for the INFO that asks. */
export async function commandCalls(redis: Redis): Promise<number> {
  let sum = 0;
  for (const [command, calls] of await callsByCommand(redis)) if (command !== 'info') sum += calls;
  return sum;
}

/** How often the server has run each command. */
export async function callsByCommand(redis: Redis): Promise<Map<string, number>> {
  const stats = await redis.info('commandstats');
  const found = stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g);
  return new Map([...found].map(([, command = '', calls]) => [command, Number(calls)]));
}

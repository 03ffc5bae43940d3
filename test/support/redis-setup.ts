import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of a Redis for each worker of vitest. A tier without Redis is given none. */
    redisUrls: readonly string[];
    /** False where REDIS_URL named it: others may use it, so nothing of theirs is counted. */
    redisIsOurs: boolean;
  }
}

/** Before the first test file of a project: finds or gets a Redis for each worker of vitest. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The first may have to be installed, which the others then find.
  const first = await provideRedis();
  const more = Array.from({ length: project.config.maxWorkers - 1 }, () => provideRedis());
  const all = [first, ...(await Promise.all(more))];
  project.provide(
    'redisUrls',
    all.map(({ url }) => url),
  );
  project.provide('redisIsOurs', first.how !== 'REDIS_URL');
  return async () => {
    await Promise.all(all.map((redis) => redis.close()));
  };
}

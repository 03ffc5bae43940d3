import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';
import { addUsers } from './redis-users.ts';

/** The Redis servers of a project, one for each worker of vitest. */
export interface TestServers {
  readonly urls: readonly string[];
  /** Where a worker notes which of them is its own: see `claimOne`. */
  readonly claims: string;
  /** False where REDIS_URL named it: others may use it, so nothing of theirs is counted. */
  readonly areOurs: boolean;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** A tier without Redis is given none. */
    redis: TestServers;
  }
}

/** Before the first test file of a project: finds or gets a Redis for each worker of vitest. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The first may have to be installed, which the others then find.
  const first = await provideRedis();
  const more = Array.from({ length: project.config.maxWorkers - 1 }, () => provideRedis());
  const all = [first, ...(await Promise.all(more))];
  const claims = mkdtempSync(path.join(tmpdir(), 'notices-test-redis-'));
  const areOurs = first.how !== 'REDIS_URL';
  if (areOurs) await Promise.all(all.map(({ url }) => addUsersTo(url)));
  project.provide('redis', { urls: all.map(({ url }) => url), claims, areOurs });
  return async () => {
    await Promise.all(all.map((redis) => redis.close()));
    rmSync(claims, { recursive: true, force: true });
  };
}

/** Programs under test connect as the users of docs/redis.md, in the namespaces of the tests. */
async function addUsersTo(url: string): Promise<void> {
  const admin = new Redis(url);
  await addUsers(admin, 'nq-test-');
  admin.disconnect();
}

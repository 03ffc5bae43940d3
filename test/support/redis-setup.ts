import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';
import { addUsers } from './redis-users.ts';

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

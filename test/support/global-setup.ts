import { spawnSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of the run's Redis. */
    redisUrl: string;
    /** False where REDIS_URL named it: others may use it, so nothing of theirs is counted. */
    redisIsOurs: boolean;
  }
}

/** Before the first test file: builds once and finds or gets one Redis for the whole run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  buildOnce();
  const redis = await provideRedis();
  project.provide('redisUrl', redis.url);
  project.provide('redisIsOurs', redis.how !== 'REDIS_URL');
  return () => redis.close();
}

/**
 * Tests that start processes run the built files. `npm test` has just built them; a run of vitest
 * alone builds here, unless NOTICES_SKIP_BUILD=1. Nothing is removed first, so that two runs beside
 * each other do not take each other's files away. A type error does not stop the run, for the files
 * are written all the same: `npm run check` is what refuses it.
 */
function buildOnce(): void {
  if (process.env['NOTICES_SKIP_BUILD'] === '1') return;
  if (process.env['npm_lifecycle_event'] === 'test') return;
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'];
  const built = spawnSync(process.execPath, tsc, { encoding: 'utf8' });
  if (built.error !== undefined) throw built.error;
  if (built.status !== 0) {
    process.stderr.write(
      `The build has errors; the tests run on what it wrote.\n${built.stdout}\n`,
    );
  }
}

import { afterAll, beforeAll } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import type { Env } from './run.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { serviceEnv } from '../../emulator/running.ts';

/**
 * What every command can be run against: an emulator, a list of two numbers, a batch that is being sent and one
 * without contacts. Call it once at the top of a test file.
 */
export function commandWorld() {
  const redis = testRedis();
  const prefix = redis.freshPrefix();
  const list = temporaryFile('contact\n01000000001\n01000000002\n', 'list.csv', afterAll);
  let emulator: Emulator | undefined;
  let env: Env = {};

  beforeAll(async () => {
    emulator = await startEmulator();
    env = {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      ...serviceEnv(emulator.url),
      FIND_KEY: Buffer.alloc(32, 7).toString('base64'),
      EVENT_WEBHOOK_URL: `${emulator.url}/nowhere`,
      EVENT_WEBHOOK_SECRET: 'a webhook secret of thirty-two letters',
    };
    await buildBatch(redis.client, prefix, 'sending', [[{ contact: '01000000003' }]]);
    await buildBatch(redis.client, prefix, 'over', []);
  });
  afterAll(() => emulator?.close());
  return { redis, prefix, list, env: () => env };
}

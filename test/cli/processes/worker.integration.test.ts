import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { startProcess } from '../support/process.ts';
import { errorOf, run, STACK } from '../support/run.ts';
import { ownRedis } from '../../support/own-redis.ts';

const redis = testRedis();
const SERVICE = { BASE_URL: 'http://127.0.0.1:9', ACCESS_KEY: 'a', SECRET_KEY: 'CANARY-secret' };

describe('notices worker', () => {
  it('a Redis that evicts: exit code 3, REDIS_UNSUITABLE', async () => {
    const { url } = await ownRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const ended = await run(['worker', '--json'], { ...SERVICE, REDIS_URL: url });
    expect([ended.code, errorOf(ended).code]).toEqual([3, 'REDIS_UNSUITABLE']);
    expect(errorOf(ended).message).toContain('allkeys-lru');
    expect(ended.stderr).not.toMatch(STACK);
  });

  // The second is that of a terminal that is closed.
  it.each(['SIGTERM', 'SIGHUP'] as const)(
    'stops in good order at %s, and writes nothing but JSON lines on standard output',
    async (signal) => {
      const env = { ...SERVICE, REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
      const worker = startProcess(['worker'], env);
      await worker.says(/"event":"started"/);
      worker.stop(signal);
      const { code, stdout } = await worker.ended;
      expect(code).toBe(0);
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event);
      expect(events).toContain('stopped');
      expect(stdout).not.toContain('CANARY');
    },
  );
});

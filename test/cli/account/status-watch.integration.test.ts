import { describe, expect, it, vi } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { run, start, STACK } from '../support/run.ts';

// Each of them starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const redis = testRedis();

describe('notices status --watch', () => {
  it('writes a block a look without a terminal, and ends with 0 on Ctrl-C', async () => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const watching = start(['status', '--watch', '1'], env);
    await watching.says(/(^notices status, account default[\s\S]*?^redis .*$[\s\S]*?){2}/m);
    watching.stop('SIGINT');
    const { code, stdout, stderr } = await watching.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('\u001B');
    expect(await redis.keys(env.REDIS_PREFIX)).toEqual([]);
  });

  it('survives an outage of Redis: says so, goes on trying, and shows figures again', async () => {
    const port = await freePort();
    const env = { REDIS_URL: `redis://127.0.0.1:${port}` };
    let server = await startRedisServer({ port });
    const watching = start(['status', '--watch', '1s', '--json'], env);
    const seen = () =>
      watching
        .stdout()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { jobs?: object; error?: { code: string } });
    try {
      await until(() => seen().some(({ jobs }) => jobs !== undefined), {
        what: 'the first figures',
        deadlineMs: 20_000,
      });
      await server.close();
      const away = await until(() => seen().find(({ error }) => error !== undefined), {
        what: 'word of the outage',
        deadlineMs: 30_000,
      });
      expect(away.error?.code).toBe('QUEUE_UNAVAILABLE');
      server = await startRedisServer({ port });
      await until(() => seen().at(-1)?.jobs !== undefined, {
        what: 'figures again',
        deadlineMs: 30_000,
      });
      watching.stop('SIGINT');
      expect((await watching.ended).code).toBe(0);
    } finally {
      await server.close();
    }
  });

  it('ends with 3 where Redis is away at the end, and at once although a look is under way', async () => {
    const env = { REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    const watching = start(['status', '--watch'], env);
    await watching.says(/Redis unavailable since .*QUEUE_UNAVAILABLE/);
    watching.stop('SIGTERM');
    const { code, stderr } = await watching.ended;
    expect([code, stderr]).toEqual([3, '']);
    expect(stderr).not.toMatch(STACK);
  });

  it.each([['0'], ['two'], ['3601'], ['2h'], ['250ms']])('refuses %s', async (seconds) => {
    const { code, stdout } = await run(['status', '--watch', seconds]);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('refuses --worker beside it', async () => {
    const { code, stderr } = await run(['status', '--watch', '--worker', 'host']);
    expect(code).toBe(2);
    expect(stderr).toContain('use either --worker or --watch');
  });
});

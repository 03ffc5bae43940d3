import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ScriptFailure } from '../../src/redis/failure.ts';
import { defineScript } from '../../src/redis/script.ts';
import { testRedis } from '../support/redis.ts';
import { callsByCommand } from '../token/support/server-calls.ts';

const redis = testRedis();

describe('defineScript', () => {
  it('runs on a server that does not hold the script, and again by its hash alone', async () => {
    const text = `return { KEYS[1], ARGV[1] } -- ${redis.prefix}`;
    const echo = defineScript({ name: 'echo', lua: text });
    const client = redis.client;
    await expect(echo(client, ['a'], ['b'])).resolves.toEqual(['a', 'b']);
    const evals = async () => (await callsByCommand(client)).get('eval') ?? 0;
    const before = await evals();
    await expect(echo(client, ['a'], [7])).resolves.toEqual(['a', '7']);
    expect(await evals()).toBe(before);
  });

  it('tells the reason of an error in one word and nothing of the arguments', async () => {
    const script = defineScript({
      name: 'broken',
      lua: `return redis.error_reply('OOM ' .. ARGV[1])`,
    });
    const failure: unknown = await script(redis.client, ['k'], ['canary-of-arguments']).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(ScriptFailure);
    expect(failure).toMatchObject({
      fields: { code: 'OOM' },
      message: 'Redis script broken failed: OOM',
    });
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain('canary');
    expect(JSON.stringify(failure)).not.toContain('canary');
  });

  it('names the error of the client where Redis does not answer', async () => {
    const client = redis.connect();
    await client.ping();
    client.disconnect();
    const script = defineScript({ name: 'gone', lua: 'return 1' });
    await expect(script(client, [], [])).rejects.toBeInstanceOf(ScriptFailure);
  });
});

import { describe, expect, it } from 'vitest';
import { newApiKey } from '../../../src/ops/web/access/accounts.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();
const MINUTE_MS = 60_000;

async function bench() {
  const prefix = redis.freshPrefix();
  const made = [
    newApiKey('shop', 'sender'),
    newApiKey('shop', 'sender', '2099-12-31'),
    newApiKey('old', 'viewer', '2020-01-31'),
  ];
  const OPS_API_KEYS = made.map(({ entry }) => entry).join(',');
  const server = await startOps(redis.url, prefix, { OPS_API_KEYS });
  const { keyUses } = keysOf(prefix, 'default');
  const ask = (index: number) =>
    server.ask('/api/v1/notices/n-none', {
      headers: { authorization: `Bearer ${made[index]?.key}` },
    });
  const uses = () => redis.client.hgetall(keyUses);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix, OPS_API_KEYS };
  const list = async () =>
    JSON.parse((await run(['ops', 'keys', '--json'], env)).stdout) as unknown;
  return { server, ask, uses, list, env, keyUses };
}

describe('the last use of an API key', () => {
  it('is listed for each key, to the minute; a refused key is not used', async () => {
    const { ask, uses, list, env } = await bench();
    const before = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    expect(await list()).toMatchObject([
      { lastUsed: null },
      { lastUsed: null },
      { lastUsed: null },
    ]);
    expect((await ask(0)).status).toBe(200);
    expect((await ask(2)).status).toBe(401);
    await until(async () => Object.keys(await uses()).length > 0, { what: 'the first use' });
    const listed = (await list()) as { id: string; lastUsed: number | null }[];
    expect(listed).toMatchObject([
      { name: 'shop', role: 'sender', until: null, expired: false },
      { name: 'shop', role: 'sender', until: Date.parse('2100-01-01'), lastUsed: null },
      { name: 'old', role: 'viewer', expired: true, lastUsed: null },
    ]);
    expect(listed[0]?.lastUsed).toBeGreaterThanOrEqual(before);
    expect(Number(listed[0]?.lastUsed) % MINUTE_MS).toBe(0);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(3);
    const { code, stdout } = await run(['ops', 'keys'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^NAME +ROLE +ID +LAST DAY +LAST USE$/m);
    expect(stdout).toMatch(/^shop +sender +\S+ +none +\d{4}-\d\d-\d\dT\d\d:\d\d$/m);
    expect(stdout).toMatch(/^shop +sender +\S+ +2099-12-31 +never$/m);
    expect(stdout).toMatch(/^old +viewer +\S+ +2020-01-31, over +never$/m);
  });

  it('is written once a minute, whatever the number of requests', async () => {
    const { server, ask, uses, keyUses } = await bench();
    const { keyUses: noted } = server.context;
    await ask(0);
    await until(async () => Object.keys(await uses()).length > 0, { what: 'the first use' });
    const [id = ''] = Object.keys(await uses());
    await redis.client.del(keyUses);
    // A minute that no request of this test is in.
    const at = (Math.floor(Date.now() / MINUTE_MS) + 3) * MINUTE_MS;
    noted.note(id, at);
    await until(async () => (await uses())[id] === String(at), { what: 'the next minute' });
    await redis.client.del(keyUses);
    for (let second = 1; second < 60; second++) noted.note(id, at + second * 1_000);
    noted.note('other', at);
    await until(async () => (await uses())['other'] !== undefined, { what: 'another key' });
    expect(Object.keys(await uses())).toEqual(['other']);
  });

  it('without keys, and without Redis, ops keys says so', async () => {
    const { env } = await bench();
    const none = await run(['ops', 'keys'], { ...env, OPS_API_KEYS: '' });
    expect(none).toMatchObject({ code: 0, stdout: 'No API key: OPS_API_KEYS is not set.\n' });
    const away = await run(['ops', 'keys', '--json'], { ...env, REDIS_URL: 'redis://127.0.0.1:1' });
    expect(away).toMatchObject({ code: 3, stdout: '' });
  });
});

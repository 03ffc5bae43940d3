import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SUPPRESS_REASONS } from '../../src/contracts/suppression.ts';
import { sealingOf, NO_SEALING } from '../../src/payload/seal.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { run } from '../cli/support/run.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

function world() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const list = new DoNotSendList(redis.client, keys, NO_SEALING);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const folder = mkdtempSync(path.join(tmpdir(), 'suppress-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (text: string, name = 'list.csv') => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const found = async (some: readonly string[]) => {
    const hits = await list.find(some);
    return [...(hits ?? [])].map(([index, { reason }]) => [some[index], reason]);
  };
  return { keys, list, env, file, found };
}

it('an entry of either form is found by either, with its first reason and its minute', async () => {
  const { keys, list } = world();
  expect(await list.find(['01012345678'])).toBeUndefined();
  const before = Date.now() - 60_000;
  expect(await list.add(['821012345678', '01099998888'], 'complaint')).toBe(2);
  expect(await list.add(['01012345678'], 'other')).toBe(0);
  const hits = await list.find(['01012345678', '0105', '00821012345678', '821099998888']);
  expect([...(hits?.keys() ?? [])]).toEqual([0, 2, 3]);
  const { reason, since = 0 } = hits?.get(0) ?? {};
  expect(reason).toBe('complaint');
  expect([since > before, since <= Date.now(), since % 60_000]).toEqual([true, true, 0]);
  expect(await list.remove(['01012345678', '0105'])).toBe(1);
  expect(await list.count()).toBe(1);
  expect(await list.remove(['01099998888'])).toBe(1);
  expect(await list.find(['01099998888'])).toBeUndefined();
  expect(await redis.client.exists(keys.suppress)).toBe(0);
});

it('every reason is kept, and no number is in Redis', async () => {
  const { keys, list, found } = world();
  const some = numbers(SUPPRESS_REASONS.length, 7_000_000);
  for (const [index, reason] of SUPPRESS_REASONS.entries())
    await list.add([some[index] ?? ''], reason);
  expect(await found(some)).toEqual(some.map((number, index) => [number, SUPPRESS_REASONS[index]]));
  for (const key of await redis.client.keys(`${keys.suppress}*`)) {
    expect(JSON.stringify(await redis.client.hgetall(key))).not.toMatch(/0107/);
  }
});

it('a process with another key is refused, and makes no second list', async () => {
  const { keys, list } = world();
  const sealed = sealingOf('default', { payloadKey: Buffer.alloc(32, 1).toString('base64') });
  const other = sealingOf('default', { payloadKey: Buffer.alloc(32, 2).toString('base64') });
  const first = new DoNotSendList(redis.client, keys, sealed);
  await first.add(['01012345678'], 'opt-out');
  for (const stranger of [list, new DoNotSendList(redis.client, keys, other)]) {
    await expect(stranger.add(['0105'], 'opt-out')).rejects.toMatchObject({ code: 'NOT_POSSIBLE' });
    await expect(stranger.find(['01012345678'])).rejects.toMatchObject({ code: 'NOT_POSSIBLE' });
  }
  expect(await first.count()).toBe(1);
});

it('nothing is stored where the hint about it is refused', async () => {
  const { keys } = world();
  const username = `mute-${redis.prefix}`;
  await redis.client.call('ACL', 'SETUSER', username, 'on', '>x', '+@all', '~*', 'resetchannels');
  onTestFinished(async () => void (await redis.client.call('ACL', 'DELUSER', username)));
  const mute = redis.client.duplicate({ username, password: 'x' });
  onTestFinished(() => mute.disconnect());
  const list = new DoNotSendList(mute, keys, NO_SEALING);
  await expect(list.add(['01012345678'], 'opt-out')).rejects.toMatchObject({
    code: 'QUEUE_REFUSED',
  });
  expect(await redis.client.keys(`${keys.suppress}*`)).toEqual([]);
});

it('import, sync and export work on files', async () => {
  const { keys, list, env, file, found } = world();
  const [one = '', two = '', three = '', four = ''] = numbers(4);
  const csv = file(
    `phone,reason\n${one},complaint\n${two},\n+82 ${three.slice(1)},Opt-Out\nnone,\n`,
  );
  const imported = await run(['suppress', 'import', csv, '--contact', 'phone', '--json'], {
    ...env,
    COUNTRY: 'KR',
  });
  expect([imported.code, JSON.parse(imported.stdout)]).toEqual([
    1,
    { rows: 4, added: 3, refused: 1, listed: 3 },
  ]);
  expect(await found([one, two, three, four])).toEqual([
    [one, 'complaint'],
    [two, 'opt-out'],
    [three, 'opt-out'],
  ]);

  const wanted = file(`contact,reason\n${two},other\n${four},wrong-number\n`, 'wanted.csv');
  const asked = await run(['suppress', 'sync', wanted], env);
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining('Add 1 number to the do-not-send list and remove 2?'),
  ]);
  expect(await list.count()).toBe(3);
  const synced = await run(['suppress', 'sync', wanted, '--yes', '--json'], env);
  expect(JSON.parse(synced.stdout)).toEqual({ rows: 2, added: 1, removed: 2, listed: 2 });
  expect(await found([one, two, three, four])).toEqual([
    [two, 'opt-out'],
    [four, 'wrong-number'],
  ]);
  const refused = await run(['suppress', 'sync', file('contact\nnone\n', 'bad.csv'), '--yes'], env);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('nothing was changed'),
  ]);

  const { stdout } = await run(['suppress', 'export'], env);
  const lines = stdout.trim().split('\n');
  expect(lines[0]).toBe('"hash","reason","since"');
  expect(lines).toHaveLength(3);
  expect(stdout).not.toContain(two);
  expect(stdout).toMatch(/^"[0-9a-f]{16}","wrong-number","\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z"$/m);
  const audited = (await readAudit(redis.client, keys, 9)).map(({ what, as }) => `${what} ${as}`);
  expect(audited).toEqual(['suppress exported', 'suppress synced', 'suppress imported']);
}, 90_000);

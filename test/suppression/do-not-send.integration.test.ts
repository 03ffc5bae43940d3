import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SUPPRESS_REASONS } from '../../src/contracts/suppression.ts';
import { sealingOf, workerSealing, NO_SEALING, type Sealing } from '../../src/payload/seal.ts';
import { readMemory } from '../../src/redis/facts.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { matching, run, start } from '../cli/support/run.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { ownRedis } from '../support/own-redis.ts';

const redis = testRedis();

function world() {
  const { prefix, keys } = redis.account();
  const list = new DoNotSendList(redis.client, keys, NO_SEALING);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const folder = temporaryFolder();
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

it('PAYLOAD_KEY is introduced and changed while the list has an entry', async () => {
  const { keys, list } = world();
  const [one, two] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  const finds = async (sealing: Sealing) =>
    (await new DoNotSendList(redis.client, keys, sealing).find(['01012345678']))?.size;
  await list.add(['01012345678'], 'opt-out');
  const steps = [
    { payloadKeyPrevious: one },
    { payloadKey: one },
    { payloadKey: two, payloadKeyPrevious: one },
    { payloadKey: two },
  ];
  let before: Sealing = NO_SEALING;
  for (const step of steps) {
    const now = workerSealing('default', step);
    expect(await finds(now)).toBe(1);
    // The commands get the key before or after the workers.
    expect(await finds(sealingOf('default', step))).toBe(1);
    expect(await finds(before)).toBe(1);
    before = now;
  }
  await expect(finds(NO_SEALING)).rejects.toMatchObject({
    code: 'NOT_POSSIBLE',
    message: expect.stringMatching(/set it as PAYLOAD_KEY/) as string,
  });
  expect(await redis.client.hexists(keys.suppress, 'key plain')).toBe(0);
});

it('a list that was made anew is read by who knows the former one', async () => {
  const { keys, list } = world();
  const other = new DoNotSendList(redis.client, keys, NO_SEALING);
  await list.add(['01012345678'], 'opt-out');
  expect((await other.find(['01012345678']))?.size).toBe(1);
  await redis.client.del(await redis.client.keys(`${keys.suppress}*`));
  const again = new DoNotSendList(redis.client, keys, NO_SEALING);
  const also = new DoNotSendList(redis.client, keys, NO_SEALING);
  // Both find no list and have a key ready: one of them stores it.
  expect(
    await Promise.all([again.add(['01012345678'], 'other'), also.add(['01099998888'], 'other')]),
  ).toEqual([1, 1]);
  expect([...((await other.find(['01012345678', '01099998888']))?.keys() ?? [])]).toEqual([0, 1]);
  // Prints that are outside belong to the former one.
  await list.printsOf([]);
  await expect(list.add(['0105'], 'other')).rejects.toMatchObject({ code: 'NOT_POSSIBLE' });
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
  const yes = ['suppress', 'sync', wanted, '--yes', '--json'];
  const tooMany = await run(yes, env);
  expect([tooMany.code, tooMany.stderr]).toEqual([
    2,
    expect.stringContaining('remove 2 of 3 numbers, with --yes at most 1'),
  ]);
  expect(await list.count()).toBe(3);
  const synced = await run([...yes, '--allow-removing', '2'], env);
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

it('a file without numbers, and a stream, change nothing', async () => {
  const { list, env, file } = world();
  const all = numbers(2);
  await list.add(all, 'opt-out');
  const empty = file('contact\n');
  for (const args of [
    ['sync', empty, '--yes', '--allow-removing', '9'],
    ['import', empty],
  ]) {
    const ended = await run(['suppress', ...args], env);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('has no numbers')]);
  }
  const stream = await run(['suppress', 'sync', '-', '--yes'], env, `contact\n${all[0]}\n`);
  expect([stream.code, stream.stderr]).toEqual([2, expect.stringContaining('name a file')]);
  expect(await list.count()).toBe(2);
  const [other = ''] = numbers(1, 5_000);
  const imported = await run(['suppress', 'import', '-'], env, `contact\n${other}\n`);
  expect([imported.code, await list.count()]).toEqual([0, 3]);
}, 60_000);

it('a file that is written while sync asks changes nothing', async () => {
  const { keys, list, env, file } = world();
  const [one = '', two = '', three = ''] = numbers(3);
  await list.add([one, two], 'opt-out');
  const wanted = file(`contact\n${two}\n${three}\n`);
  const running = start(['suppress', 'sync', wanted], env, true);
  await matching(() => running.stderr(), /remove 1\?/);
  file('contact\nnone\nnone either\n');
  running.stdin.write('y\n');
  const { code, stderr } = await running.ended;
  expect([code, stderr]).toEqual([2, expect.stringContaining('changed')]);
  expect([...((await list.find([one, two, three]))?.keys() ?? [])]).toEqual([0, 1]);
  expect(await readAudit(redis.client, keys, 9)).toMatchObject([{ as: 'synced', contacts: 0 }]);
}, 60_000);

it('what an import has done before it fails is recorded', async () => {
  const { keys, list, env, file } = world();
  const rows = numbers(40_000).join('\n');
  const ended = await run(['suppress', 'import', file(`contact\n${rows}\n"0"1\n`)], env);
  expect(ended.code).not.toBe(0);
  const contacts = await list.count();
  expect(contacts).toBeGreaterThan(0);
  expect(await readAudit(redis.client, keys, 9)).toMatchObject([{ as: 'imported', contacts }]);
}, 60_000);

it('add and import take the same numbers, and say which', async () => {
  const { env, file } = world();
  const add = (number: string) => run(['suppress', 'add', '--json', '--', number], env);
  const taken = ['1099990001', '+1 (212) 555-1234', '+49 151 1234 5678', '82 10-2000-0015'];
  for (const [index, masked] of ['010******01', '212*****34', '491********78'].entries()) {
    const { stdout } = await add(taken[index] ?? '');
    expect(JSON.parse(stdout)).toEqual({ added: true, number: masked, listed: index + 1 });
  }
  const refused = ['12', '010-2000-0014 (12)', '010-2000-0014 010-2000-0015'];
  for (const number of refused) {
    const ended = await add(number);
    expect([number, ended.code]).toEqual([number, 2]);
  }
  const csv = file(['contact', ...taken, ...refused].join('\n'));
  const { stdout } = await run(['suppress', 'import', csv, '--json'], { ...env, COUNTRY: 'KR' });
  expect(JSON.parse(stdout)).toEqual({ rows: 7, added: 1, refused: 3, listed: 4 });
}, 60_000);

it('an import stops before it takes the memory that is kept free for notices', async () => {
  const { client: small, url } = await ownRedis();
  const { used } = await readMemory(small);
  // Less free than lists leave, and more than the file would take.
  await small.config('SET', 'maxmemory', Math.floor(used * 1.8));
  const { env, file } = world();
  const csv = file(`contact\n${numbers(5_000).join('\n')}\n`);
  const ended = await run(['suppress', 'import', csv], { ...env, REDIS_URL: url });
  expect(ended).toMatchObject({ code: 3, stdout: '' });
  const keys = keysOf(env.REDIS_PREFIX, 'default');
  expect(await new DoNotSendList(small, keys, NO_SEALING).count()).toBe(2_000);
}, 60_000);

import { expect, it } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { listWorlds } from '../support/list-world.ts';
import { run } from '../support/run.ts';

const { redis, file, world } = listWorlds();

async function imported() {
  const list = file('list.csv', 'contact;name\n01000000001;a\n01000000002;b\n');
  const { prefix, import: importing } = world();
  expect((await importing(list, ['--delimiter', ';'])).code).toBe(0);
  const keys = keysOf(prefix, 'default');
  const results = (...args: readonly string[]) =>
    run(['results', 'b', ...args], { REDIS_URL: redis.url, REDIS_PREFIX: prefix });
  const downloads = async () =>
    (await readAudit(redis.client, keys, 9)).filter(({ what }) => what === 'download');
  return { list, results, downloads };
}

it('writes the results after the columns of the list, and records why', async () => {
  const { list, results, downloads } = await imported();
  const { code, stdout } = await results(list, '--delimiter', ';', '--why', 'for the auditor');
  expect([code, stdout.split('\n').slice(1)]).toEqual([
    0,
    [
      '"01000000001","a","2","pending","","","",""',
      '"01000000002","b","3","pending","","","",""',
      '',
    ],
  ]);
  expect(await downloads()).toMatchObject([{ target: 'batch b', why: 'for the auditor' }]);
});

it('answers only the rows after one inside of a range', async () => {
  const { results } = await imported();
  const from = async (after: number) => {
    const { stdout } = await results('--after', String(after), '--json');
    return JSON.parse(stdout) as unknown;
  };
  expect(await from(0)).toMatchObject({ rows: 2, results: [{ from: 2, to: 3 }], next: null });
  expect(await from(2)).toMatchObject({ rows: 2, results: [{ from: 3, to: 3 }], next: null });
  expect(await from(3)).toMatchObject({ rows: 2, results: [], next: null });
});

it('refuses flags that it would ignore, and a file that is not there, before it records a download', async () => {
  const { list, results, downloads } = await imported();
  for (const flags of [['--after', '1'], ['--limit', '1'], ['--csv'], ['--json']]) {
    const { code, stdout, stderr } = await results(list, ...flags);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('with FILE')]);
  }
  for (const flags of [
    ['--delimiter', ';'],
    ['--encoding', 'euc-kr'],
  ]) {
    const { code, stderr } = await results(...flags);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${flags[0]}: leave it out`)]);
  }
  const { stdout, stderr } = await results(`${list}.csv`);
  expect([stdout, stderr]).toEqual(['', expect.stringContaining('there is no such file')]);
  expect(await downloads()).toEqual([]);
});

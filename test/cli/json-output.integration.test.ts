import { beforeAll, describe, expect, it } from 'vitest';
import { FIELDS, OWN } from '../../scripts/commands-page.ts';
import { announceAccepted } from '../../src/events/announce.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { commandWorld } from './support/command-world.ts';
import { startProcess } from './support/process.ts';
import { run } from './support/run.ts';

/*
 * Each command with fields of its own once with --json, against docs/commands.md, which is made of them. Operations are in
 * test/ops/operations/matrix.integration.test.ts.
 */

/** Fields of what a command wrote that the page does not name. */
function undocumented(name: string, stdout: string): string[] {
  const documented = FIELDS.get(name) ?? [];
  const [first = ''] = stdout.split('\n');
  // One value, or one on each line.
  const values = /^\{.+\}$/.test(first)
    ? stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown)
    : [JSON.parse(stdout) as unknown];
  const items = values.flat(1) as readonly object[];
  return items.flatMap((item) => Object.keys(item)).filter((field) => !documented.includes(field));
}

const { redis, prefix, list, env } = commandWorld();

beforeAll(async () => {
  const keys = keysOf(prefix, 'default');
  await announceAccepted(redis.client, keys, 'n-1', 100);
});

/** Commands by name: a command line, and its exit code. */
const ENDING: Readonly<Record<string, readonly [string, number]>> = {
  send: ['send --template T --contact 01000000001', 0],
  import: ['import LIST --template T --batch b', 0],
  'events test': ['events test', 1],
  doctor: ['doctor', 1],
  config: ['config', 0],
  'ops new-key': ['ops new-key caller', 0],
  'suppress import': ['suppress import LIST', 0],
  'suppress sync': ['suppress sync LIST --yes', 0],
};

/** What is stopped by a signal: the command line, and what is waited for. */
const LASTING: Readonly<Record<string, readonly [string, RegExp]>> = {
  'ops serve': ['ops serve --port 0', /\}\n$/],
  emulator: ['emulator --port 0', /\}\n$/],
};

describe('--json', () => {
  it('every command has fields, or is known to write no result', () => {
    const without = [...FIELDS].filter(([, fields]) => fields.length === 0);
    expect(without.map(([name]) => name)).toEqual(['suppress export', 'worker']);
  });

  it.each(Object.entries(ENDING))('%s: as the page says', async (name, [line, code]) => {
    const args = line.split(' ').map((word) => (word === 'LIST' ? list : word));
    const ended = await run([...args, '--json'], env());
    expect(ended).toEqual({ ...ended, code });
    expect(undocumented(name, ended.stdout)).toEqual([]);
  });

  it.each(Object.entries(LASTING))('%s: as the page says', async (name, [line, written]) => {
    const lasting = startProcess([...line.split(' '), '--json'], env());
    await lasting.says(written);
    lasting.stop('SIGINT');
    const { code, stdout } = await lasting.ended;
    expect([code, undocumented(name, stdout)]).toEqual([0, []]);
  });

  it('events --follow and batch --watch write one value a line', async () => {
    const following = startProcess(['events', '--follow', '--json'], env());
    await following.says(/\n/);
    following.stop('SIGINT');
    const { stdout } = await following.ended;
    expect(undocumented('events list', stdout)).toEqual([]);
    const watched = await run(['batch', 'over', '--watch', '--json'], env());
    expect(undocumented('batch', watched.stdout)).toEqual([]);
  });

  it('ops hash-password: as the page says', async () => {
    const ended = await run(['ops', 'hash-password', 'kim', '--json'], env(), 'a long password\n');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(undocumented('ops hash-password', ended.stdout)).toEqual([]);
  });

  it('every command with fields of its own is tried here', () => {
    const tried = [...Object.keys(ENDING), ...Object.keys(LASTING)];
    tried.push('ops hash-password', 'events list', 'batch');
    expect(tried.toSorted()).toEqual(Object.keys(OWN).toSorted());
  });

  it('an error is one line of JSON on standard error', async () => {
    const ended = await run(['events', 'replay', 'none', '--json'], env());
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^\{"error":.*\}\n$/);
  });
});

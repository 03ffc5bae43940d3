import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { announceAccepted } from '../../src/events/announce.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { commandWorld } from './support/command-world.ts';
import { everyCommand } from './support/every-command.ts';
import { startProcess } from './support/process.ts';
import { run } from './support/run.ts';

/*
 * Each command once with --json, against the table of fields in docs/commands.md.
 */

/** The documented fields of the values that a command writes, subcommands after a space. */
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  (readFileSync('docs/commands.md', 'utf8').split('## Fields with --json')[1] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => {
      const [, names = '', fields = ''] = line.split('|');
      const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one);
      return quoted(names).map((name) => [name, quoted(fields)] as const);
    }),
);

/** Commands that write no result as JSON. */
const WITHOUT_RESULT = ['worker', 'suppress export'];

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

/** Each row of the page, and a command line that writes it, with the exit code. */
const ENDING: Readonly<Record<string, readonly [string, number]>> = {
  send: ['send --template T --contact 01000000001', 0],
  show: ['show n-none', 1],
  find: ['find 01000000001', 0],
  waiting: ['waiting', 0],
  'events list': ['events', 0],
  import: ['import LIST --template T --batch b', 0],
  batches: ['batches', 0],
  batch: ['batch sending', 0],
  pause: ['pause sending', 0],
  resume: ['resume sending', 0],
  rate: ['rate sending 100', 0],
  failures: ['failures sending', 0],
  results: ['results sending', 0],
  decide: ['decide --batch sending --as resend --yes', 0],
  cancel: ['cancel sending --yes', 0],
  status: ['status', 0],
  'hold show': ['hold', 0],
  'hold place': ['hold place --why test', 0],
  'hold lift': ['hold lift', 0],
  'rate-limit': ['rate-limit 50', 0],
  'events test': ['events test', 1],
  audit: ['audit', 0],
  'restored show': ['restored', 0],
  'restored park': ['restored park --yes', 1],
  doctor: ['doctor', 1],
  config: ['config', 0],
  'events replay': ['events replay 1-1', 0],
  'ops new-key': ['ops new-key caller', 0],
  'suppress add': ['suppress add 01000000001', 0],
  'suppress check': ['suppress check 01000000001', 0],
  'suppress remove': ['suppress remove 01000000001', 0],
  'suppress import': ['suppress import LIST', 0],
  'suppress sync': ['suppress sync LIST --yes', 0],
  erase: ['erase 01000000001 --yes', 0],
};

/** What is stopped by a signal: the command line, and what is waited for. */
const LASTING: Readonly<Record<string, readonly [string, RegExp]>> = {
  'ops serve': ['ops serve --port 0', /\}\n$/],
  emulator: ['emulator --port 0', /\}\n$/],
};

describe('--json', () => {
  it('every command has its fields on the page, or is known to write no result', async () => {
    const names = (await everyCommand()).flatMap((command) => namesOf(command));
    expect([...FIELDS.keys(), ...WITHOUT_RESULT].toSorted()).toEqual(names.toSorted());
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

  it('every row of the page is tried here', () => {
    const tried = [...Object.keys(ENDING), ...Object.keys(LASTING), 'ops hash-password'];
    expect(tried.toSorted()).toEqual([...FIELDS.keys()].toSorted());
  });

  it('an error is one line of JSON on standard error', async () => {
    const ended = await run(['events', 'replay', 'none', '--json'], env());
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^\{"error":.*\}\n$/);
  });
});

/** The command, or its subcommands, as the page names them. */
function namesOf(command: Command): string[] {
  const below = command.commands.map((sub) => `${command.name()} ${sub.name()}`);
  return below.length === 0 ? [command.name()] : below;
}

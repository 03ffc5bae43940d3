import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { WITHOUT_RESULT } from '../../src/cli/json/output-schema.ts';
import { appendNoticeEvent } from '../../src/notices/notice-events.ts';
import { alertEvent } from '../../src/ops/alerts/alert-store.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { commandWorld } from './support/command-world.ts';
import { everyCommand } from './support/every-command.ts';
import { problemsOfOutput, publishedResults } from './support/output-schema.ts';
import { startProcess } from './support/process.ts';
import { run } from './support/run.ts';

/*
 * Each command once with --json, against docs/cli.schema.json: `run` and `start` compare what it writes. They do so
 * in the tests of each command, too, which cover its other results.
 */

const { redis, prefix, list, env } = commandWorld();

beforeAll(async () => {
  const keys = keysOf(prefix, 'default');
  const { alerts } = keys;
  const draft = { event: 'test', title: 'a test', remedy: 'none', data: {} } as const;
  const alert = { ...alertEvent(draft, 'queue', Date.now()), id: 'alert-1' };
  await redis.client.xadd(alerts.posted, '*', 'alert', JSON.stringify(alert), 'as', 'posted');
  const event = { job: 'n-1', notice: 'n-1', state: 'accepted', code: '' } as const;
  await appendNoticeEvent(redis.client, keys, event, 100);
});

/** Each definition, and the command line whose output it describes, with the exit code. */
const ENDING: Readonly<Record<string, readonly [string, number]>> = {
  send: ['send --template T --contact 01000000001', 0],
  show: ['show n-none', 1],
  find: ['find 01000000001', 0],
  unknown: ['unknown', 0],
  resolve: ['resolve --all --as accepted --yes', 0],
  events: ['events', 0],
  delete: ['delete --notices --yes', 0],
  'import-line': ['import LIST --template T --batch b', 0],
  batches: ['batches', 0],
  batch: ['batch sending', 0],
  'batch-line': ['batch over --watch', 0],
  pause: ['pause sending', 0],
  resume: ['resume sending', 0],
  failures: ['failures sending', 0],
  redrive: ['redrive sending --yes', 0],
  cancel: ['cancel sending --yes', 0],
  status: ['status', 0],
  'hold-show': ['hold', 0],
  'hold-place': ['hold place --why test', 0],
  'hold-lift': ['hold lift', 0],
  'rate-limit': ['rate-limit 50', 0],
  'alerts-test': ['alerts test', 1],
  'alerts-list': ['alerts list', 0],
  audit: ['audit', 0],
  'restored-show': ['restored', 0],
  'restored-park': ['restored park --yes', 1],
  doctor: ['doctor --no-dry-send', 1],
  config: ['config', 0],
  'alerts-replay': ['alerts replay alert-1', 0],
  'ops-new-key': ['ops new-key caller', 0],
  'ops-keys': ['ops keys', 0],
  erase: ['erase 01000000001 --yes', 0],
};

/** What is stopped by a signal: the command line, and what is waited for. */
const LASTING: Readonly<Record<string, readonly [string, RegExp]>> = {
  'events-line': ['events --follow', /\n/],
  'status-line': ['status --watch 1s', /\n.*\n/],
  'ops-serve': ['ops serve --port 0', /\}\n$/],
  emulator: ['emulator --port 0', /\}\n$/],
};

describe('--json', () => {
  it('every command has a definition, or is known to write no result', async () => {
    const commands = await everyCommand();
    const names = commands.flatMap((command) => namesOf(command));
    const results = publishedResults().map((name) => name.replace(/-line$/, ''));
    const described = [...results, ...Object.keys(WITHOUT_RESULT)];
    expect([...new Set(described)].toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(ENDING))('%s: as the document says', async (_name, [line, code]) => {
    const args = line.split(' ').map((word) => (word === 'LIST' ? list : word));
    const ended = await run([...args, '--json'], env());
    expect(ended).toEqual({ ...ended, code });
    expect(ended.stdout).not.toBe('');
  });

  it.each(Object.entries(LASTING))('%s: as the document says', async (_name, [line, written]) => {
    const lasting = startProcess([...line.split(' '), '--json'], env());
    await lasting.says(written);
    lasting.stop('SIGINT');
    expect((await lasting.ended).code).toBe(0);
  });

  it('ops-hash-password: as the document says', async () => {
    const ended = await run(['ops', 'hash-password', 'kim', '--json'], env(), 'a long password\n');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('every definition is tried here', () => {
    const tried = [...Object.keys(ENDING), ...Object.keys(LASTING), 'ops-hash-password'];
    expect(tried.toSorted()).toEqual(publishedResults().toSorted());
  });

  it('an error is as the document says', async () => {
    const ended = await run(['alerts', 'replay', 'none', '--json'], env());
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^\{"error":/);
  });

  it('a property that the document does not name is found', () => {
    const stdout = JSON.stringify({ id: 'a', jobs: [], contacts: 1, duplicate: false, more: 1 });
    const [problem = ''] = problemsOfOutput(['send', '--json'], { stdout, stderr: '' });
    expect(problem).toMatch(/^send: ✖ Unrecognized key: "more"/);
  });
});

/** The command, or its subcommands, as the document names them. */
function namesOf(command: Command): string[] {
  const below = command.commands.map((sub) => `${command.name()}-${sub.name()}`);
  return below.length === 0 ? [command.name()] : below;
}

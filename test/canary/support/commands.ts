import { run } from '../../cli/support/run.ts';
import type { Env } from '../../cli/support/run.ts';
import { NUMBERS, SECRETS, VALUES } from './canaries.ts';
import { notice, readRejected, type Sent } from './play.ts';
import type { World } from './world.ts';

/** Commands of people at a terminal; what each writes is collected. */
export class Terminal {
  readonly #world: World;
  readonly #env: Env;
  /** Every command that was run, by its first word. */
  readonly used = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    const { NODE_OPTIONS: _, ...env } = world.main.env;
    this.#env = env;
  }

  /** Runs a command. @returns what it wrote to standard output */
  async run(
    args: readonly string[],
    { stdin = '', env = {}, place = 'output of a command' } = {},
  ): Promise<string> {
    this.used.add(args[0] ?? '');
    const { stdout, stderr } = await run(args, { ...this.#env, ...env }, stdin);
    this.#world.write(place, stdout);
    this.#world.write(place, stderr);
    return stdout;
  }

  /** Runs a command with both kinds of output. */
  async both(...args: readonly string[]): Promise<void> {
    await this.run(args);
    await this.run([...args, '--json']);
  }
}

/** Sends and imports, with what is wrong in some of them. */
export async function enqueue(
  terminal: Terminal,
  world: World,
  sent: Sent,
  lists: { readonly spring: string; readonly one: string },
): Promise<void> {
  const variable = ['--var', `var1=${VALUES.value}`];
  const send = async (number: string, args: readonly string[], stdin = '') => {
    const receipt = await terminal.run(['send', ...args, '--json'], { stdin });
    sent.ids.push((JSON.parse(receipt) as { id: string }).id);
    sent.notices.push(notice(number));
  };
  const contact = ['--template', 'CANARY', '--contact', NUMBERS.byCommand];
  await send(NUMBERS.byCommand, [...contact, ...variable]);
  await send(NUMBERS.byFile, ['--file', '-'], JSON.stringify(notice(NUMBERS.byFile)));
  await terminal.both('send', '--template', 'CANARY', '--contact', NUMBERS.badNotice, ...variable);
  for (const stdin of [
    `{"contacts":[{"contact":"${NUMBERS.badNotice}`,
    JSON.stringify({ ...notice(NUMBERS.badNotice), [VALUES.value]: VALUES.value }),
  ]) {
    await terminal.run(['send', '--file', '-'], { stdin });
  }
  const list = (file: string, words: string) => [
    'import',
    file,
    '--template',
    'CANARY',
    ...words.split(' '),
  ];
  const once = '--delivery at-most-once';
  await terminal.both(...list(lists.spring, `--dry-run --rejects ${lists.spring}.dry`));
  await terminal.run(list(lists.spring, `--batch spring ${once} --chunk 1`));
  await terminal.both(...list(lists.spring, `--batch again ${once} --force`));
  await terminal.both(...list(lists.one, '--dry-run'));
  await terminal.run(['import', lists.one, '--template', 'CANARY']);
  await terminal.both(...list('-', '--format ndjson'));
  const stdin = `{"contact":"${NUMBERS.badRow}","var1":"${VALUES.badRowValue.replaceAll('"', '')}"}\n{"contact`;
  await terminal.run(list('-', `--format ndjson --rejects ${lists.one}.2`), { stdin });
  readRejected(world, lists.spring);
}

/** Everything that shows something. */
export async function look(terminal: Terminal, sent: Sent): Promise<void> {
  await terminal.run(['help']);
  for (const id of sent.ids) await terminal.both('show', id);
  await terminal.both('show', '--key', 'order-1');
  await terminal.both('batches');
  for (const batch of sent.batches) {
    await terminal.both('batch', batch);
    await terminal.both('failures', batch);
    await terminal.both('results', batch);
    await terminal.run(['failures', batch, '--csv'], { place: 'exports of commands' });
  }
  await terminal.both('failures');
  await terminal.run(['failures', '--csv'], { place: 'exports of commands' });
  await terminal.both('events');
  await terminal.both('unknown');
  await terminal.run(['unknown', '--csv'], { place: 'exports of commands' });
  for (const number of [NUMBERS.accepted, NUMBERS.inList, NUMBERS.searched, NUMBERS.badNotice]) {
    await terminal.both('find', number);
  }
  await terminal.both('unknown', '--number', NUMBERS.unknown);
  await terminal.both('audit');
  for (const args of [['test'], ['list'], ['replay', '0']]) await terminal.both('events', ...args);
  await terminal.both('config');
  const proxy = `http://user:${SECRETS.proxyPassword}@127.0.0.1:9`;
  await terminal.run(['config', '--json'], { env: { PROXY_URL: proxy } });
  await terminal.run(['config'], { env: { PROXY_URL: `ftp://u:${SECRETS.proxyPassword}@x` } });
  await terminal.run(['doctor'], { env: { PROXY_URL: proxy } });
  const inUrl = `redis://:${encodeURIComponent(SECRETS.wrongRedisPassword)}@127.0.0.1:1`;
  for (const REDIS_URL of [inUrl, `${inUrl}/x`, `redis:/${SECRETS.wrongRedisPassword}`]) {
    await terminal.run(['status'], { env: { REDIS_URL, REDIS_PASSWORD: '' } });
    await terminal.run(['config'], { env: { REDIS_URL, REDIS_PASSWORD: '' } });
  }
  await terminal.both('hold');
  await terminal.both('rate-limit');
  await terminal.both('status');
  await terminal.both('doctor');
  await terminal.both('restored');
  await terminal.run(['restored', 'show', '--csv'], { place: 'exports of commands' });
}

/** Everything that changes something. */
export async function act(terminal: Terminal, sent: Sent): Promise<void> {
  await terminal.both('hold', 'place', '--why', 'a test');
  await terminal.run(['send', '--template', 'CANARY', '--contact', NUMBERS.heldBack]);
  await terminal.both('status');
  await terminal.both('hold', 'lift', '--why', 'a test');
  await terminal.both('rate-limit', '500');
  await terminal.both('pause', 'spring');
  await terminal.both('resume', 'spring');
  await terminal.both('rate', 'spring', '1000');
  await terminal.both('redrive', 'spring', '--state', 'rejected', '--yes');
  await terminal.both('redrive', '--notices', '--yes');
  await terminal.both('resolve', '--number', NUMBERS.unknown, '--as', 'accepted', '--yes');
  await terminal.both('resolve', '--all', '--as', 'discard', '--yes');
  await terminal.both('delete', sent.ids[1] ?? '', '--yes');
  for (const id of sent.ids.slice(-2)) await terminal.both('cancel', id);
  await terminal.both('cancel', 'spring', '--yes');
  await terminal.run(['ops', 'hash-password', 'kim'], { stdin: SECRETS.viewerPassword });
  await terminal.run(['ops', 'hash-password', 'kim'], { stdin: 'short' });
  await terminal.run(['erase', NUMBERS.heldBack]);
  await terminal.both('erase', NUMBERS.heldBack, '--yes', '--why', `asked by ${NUMBERS.heldBack}`);
  await terminal.both('audit');
}

import { run } from '../../cli/support/run.ts';
import type { Env } from '../../cli/support/run.ts';
import { NUMBERS, SECRETS, VALUES } from './canaries.ts';
import { note, notice, readRejected, type Sent } from './play.ts';
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

  /** The same of several, each one line of words. */
  async lines(...lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.both(...line.split(' '));
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
    note(sent, (JSON.parse(receipt) as { id: string }).id, number);
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

const EXPORTS = { place: 'exports of commands' };

/** Everything that shows something. */
export async function look(terminal: Terminal, sent: Sent): Promise<void> {
  await terminal.run(['help']);
  for (const id of sent.ids) await terminal.both('show', id);
  for (const batch of sent.batches) {
    await terminal.lines(`batch ${batch}`, `failures ${batch}`, `results ${batch}`);
    await terminal.run(['failures', batch, '--csv'], EXPORTS);
    await terminal.run(['failures', batch, '--state', 'unknown', '--csv'], EXPORTS);
  }
  for (const line of ['failures', 'failures --state unknown', 'restored show']) {
    await terminal.run([...line.split(' '), '--csv'], EXPORTS);
  }
  await terminal.lines('show --key order-1', 'batches', 'failures', 'audit', 'config');
  await terminal.lines('events', 'events test', 'events list', 'events replay 0');
  await terminal.lines('hold', 'rate-limit', 'status', 'doctor', 'restored');
  for (const number of [NUMBERS.accepted, NUMBERS.inList, NUMBERS.searched, NUMBERS.badNotice]) {
    await terminal.both('find', number);
  }
  await terminal.both('failures', '--number', NUMBERS.unknown);
  const proxy = `http://user:${SECRETS.proxyPassword}@127.0.0.1:9`;
  await terminal.run(['config', '--json'], { env: { PROXY_URL: proxy } });
  await terminal.run(['config'], { env: { PROXY_URL: `ftp://u:${SECRETS.proxyPassword}@x` } });
  await terminal.run(['doctor'], { env: { PROXY_URL: proxy } });
  const inUrl = `redis://:${encodeURIComponent(SECRETS.wrongRedisPassword)}@127.0.0.1:1`;
  for (const REDIS_URL of [inUrl, `${inUrl}/x`, `redis:/${SECRETS.wrongRedisPassword}`]) {
    await terminal.run(['status'], { env: { REDIS_URL, REDIS_PASSWORD: '' } });
    await terminal.run(['config'], { env: { REDIS_URL, REDIS_PASSWORD: '' } });
  }
}

/** Everything that changes something. */
export async function act(terminal: Terminal, sent: Sent, optedOut: string): Promise<void> {
  await terminal.lines('hold place --why test');
  await terminal.run(['send', '--template', 'CANARY', '--contact', NUMBERS.heldBack]);
  await terminal.lines(
    'status',
    'hold lift --why test',
    'rate-limit 500',
    'pause spring',
    'resume spring',
    'rate spring 1000',
    'decide --batch spring --as resend --yes',
    'decide --single --as resend --yes',
    `decide --number ${NUMBERS.unknown} --as accepted --yes`,
    'decide --single --as discard --yes',
    `decide ${sent.ids[1] ?? ''} --as discard --state rejected --yes`,
    ...sent.ids.slice(-2).map((id) => `cancel ${id}`),
    'cancel spring --yes',
    `suppress add ${NUMBERS.optedOut}`,
    `suppress check ${NUMBERS.optedOut}`,
    `suppress remove ${NUMBERS.optedOut}`,
    `suppress import ${optedOut}`,
    'suppress export',
    `suppress sync ${optedOut} --yes`,
  );
  await terminal.run(['ops', 'hash-password', 'kim'], { stdin: SECRETS.viewerPassword });
  await terminal.run(['ops', 'hash-password', 'kim'], { stdin: 'short' });
  await terminal.run(['erase', NUMBERS.heldBack]);
  await terminal.both('erase', NUMBERS.heldBack, '--yes', '--why', `asked by ${NUMBERS.heldBack}`);
  await terminal.both('sessions');
  await terminal.both('audit');
}

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startProcess } from './support/process.ts';
import { errorOf, run, STACK } from './support/run.ts';

const GROUPS = ['Single notices', 'Batches', 'Not accepted', 'Account', 'Processes'];

describe('help', () => {
  it.each(['--help', 'send --help', 'config --help'])(
    'notices %s: on standard output, with --json and the exit codes',
    async (line) => {
      const { code, stdout, stderr } = await run(line);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(
        /^Usage: notices[^]*--json[^]*^ {2}0 {2}success$[^]*^ {2}1 {2}[^]*^ {2}2 {2}[^]*^ {2}3 {2}Redis/m,
      );
    },
  );

  it('lists the commands in groups', async () => {
    const { stdout } = await run(['--help']);
    const headings = [...stdout.matchAll(/^(\w[\w ]*):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Options', ...GROUPS, 'Commands', 'Exit codes']);
  });

  it('has an example for each command, of flags that it knows', async () => {
    const all = await run(['--help']);
    const commands = [...all.stdout.matchAll(/^ {2}([a-z][a-z-]*) .*/gm)]
      .map(([, name]) => name ?? '')
      .filter((name) => name !== 'help');
    expect(commands.length).toBeGreaterThan(20);
    for (const command of commands) {
      const own = (await run([command, '--help'])).stdout;
      const example = /^Example:\n {2}notices (.*)$/m.exec(own)?.[1] ?? '';
      const [first, second = ''] = example.split(' ');
      expect(first).toBe(command);
      const below = /^[a-z]/.test(second) && new RegExp(`^ {2}${second} `, 'm').test(own);
      const help = below ? (await run([command, second, '--help'])).stdout : own;
      for (const [flag] of example.matchAll(/--[a-z-]+/g)) expect(help).toContain(`  ${flag}`);
    }
  });

  it.each([
    ['show', 'The state of a single notice by its id or idempotency key'],
    ['cancel', 'Cancels a batch, a single notice, or, after a preview, all single notices'],
  ])('notices %s: describes all that it can do in one sentence', async (name, sentence) => {
    const { stdout } = await run([name, '--help']);
    const [, description = ''] = stdout.split('\n\n');
    const words = description.replaceAll(/\s+/g, ' ').trim();
    expect(words).toContain(sentence);
    expect(words.match(/\.(?: |$)/g)).toHaveLength(1);
  });

  it('version: that of the package', async () => {
    const manifest = new URL('../../package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('wrong use: exit code 2, named, without a stack trace', () => {
  it.each([
    { args: ['frobnicate'], names: 'frobnicate' },
    { args: ['--frobnicate'], names: '--frobnicate' },
    { args: ['send', '--frobnicate'], names: '--frobnicate' },
    { args: ['config', 'extra'], names: 'too many arguments' },
    { args: ['send', '--template'], names: '--template' },
    { args: ['status', '--worker'], names: '--worker' },
    { args: ['emulator', '--port', '-1'], names: '--port' },
    { args: ['emulator', '--port', 'many'], names: '--port' },
    {
      args: ['import', 'f', '--template', 'T', '--dry-run', '--wait'],
      names: '--wait: leave it out of a dry run',
    },
  ])('$args', async ({ args, names }) => {
    const plain = await run(args);
    expect([plain.code, plain.stdout]).toEqual([2, '']);
    expect(plain.stderr).toContain(names);
    expect(plain.stderr).not.toMatch(STACK);

    const json = await run(['--json', ...args]);
    expect([json.code, json.stdout]).toEqual([2, '']);
    expect(errorOf(json)).toMatchObject({ code: 'USAGE' });
    expect(errorOf(json).message).toContain(names);
  });

  it('no command: the help, as an error', async () => {
    const plain = await run([]);
    expect([plain.code, plain.stdout]).toEqual([2, '']);
    expect(plain.stderr).toMatch(/^Usage: notices/);
    const json = await run(['--json']);
    expect([json.code, json.stdout]).toEqual([2, '']);
    expect(errorOf(json)).toEqual({ code: 'USAGE', message: 'expected a command' });
  });
});

it('ends quietly when nobody reads its output to the end', async () => {
  const running = startProcess(['config', '--producer']);
  // Gone before the first line comes.
  running.child.stdout?.destroy();
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
});

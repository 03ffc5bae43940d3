import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOLDS } from '../src/contracts/hold.ts';
import { ERROR_CODES } from '../src/contracts/errors.ts';
import { run } from './cli/support/run.ts';

const readme = readFileSync('README.md', 'utf8');

/** Cells of README's table rows, without the blanks that align them. */
const rows = readme
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('README', () => {
  it('lists every error code, with its meaning and remedy, and no other', () => {
    const listed = rows.filter(([code]) => /^`[A-Z_]+`$/.test(code ?? ''));
    const codes = Object.entries(ERROR_CODES);
    expect(listed).toEqual(
      codes.map(([code, { meaning, remedy }]) => [`\`${code}\``, meaning, remedy]),
    );
  });

  it('lists every command, and no other', async () => {
    const help = (await run(['help'])).stdout.split('Commands:')[1]?.split('Exit codes:')[0] ?? '';
    const commands = [...help.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name);
    expect(commands.length).toBeGreaterThan(10);
    const listed = rows
      .filter(([cell]) => cell?.startsWith('`notices ') === true)
      .flatMap(([cell = '']) => [...cell.matchAll(/`(?:notices )?([a-z-]+)`/g)])
      .map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(commands.filter((name) => name !== 'help').toSorted());
  });

  it('names every hold', () => {
    for (const kind of Object.keys(HOLDS)) expect(readme).toContain(`\`${kind}\``);
  });

  it('links only to files that are there', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((path) => !existsSync(path))).toEqual([]);
  });
});

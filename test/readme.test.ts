import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { run } from './cli/support/run.ts';
import { KNOWN_BLOCKS, readmeBlocks } from './docs/support/readme-blocks.ts';

const readme = readFileSync('README.md', 'utf8');

it('README shows no code block that is not run by a test', () => {
  const blocks = readmeBlocks();
  expect(blocks.filter(({ runner }) => runner === undefined)).toEqual([]);
  expect(blocks).toHaveLength(KNOWN_BLOCKS);
});

it('README names only commands and scripts that exist', async () => {
  const { stdout: help } = await run(['--help']);
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const spans = [...readme.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  const commands = spans.flatMap((code) => /^(?:npx )?notices ([a-z-]+)/.exec(code)?.[1] ?? []);
  expect(commands.length).toBeGreaterThan(0);
  expect(commands.filter((name) => !help.includes(`\n  ${name} `))).toEqual([]);
  const used = spans.flatMap((code) => /^npm (?:run )?([a-z:]+)/.exec(code)?.[1] ?? []);
  expect(used.filter((name) => !(name in scripts))).toEqual([]);
});

it('README is short and begins with what the program does', () => {
  expect(readme.split('\n').length).toBeLessThan(175);
  expect(readme.split('\n')[2]).toMatch(/^Sends SMS and messenger notices from Node\.js/);
});

it('the picture in README is there and small', () => {
  const [, picture = ''] = /!\[[^\]]+\]\(([^)]+)\)/.exec(readme) ?? [];
  expect(existsSync(picture)).toBe(true);
  expect(readFileSync(picture).length).toBeLessThan(150_000);
});

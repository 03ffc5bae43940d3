import { describe, expect, it } from 'vitest';
import { loadedFrom, TELL_LOADED } from '../support/loaded.ts';
import { runProcess } from './support/process.ts';

const SCHEMAS = /\/ops\/answers\/|find-answer/;

async function loadedBy(args: readonly string[]) {
  const { code, stderr } = await runProcess(args, TELL_LOADED);
  return { code, ...loadedFrom(stderr) };
}

describe('a command that needs neither Redis nor the service loads the definitions of options, and nothing else', () => {
  it.each([
    { args: ['--version'], ended: 0, files: 12 },
    { args: ['help', 'send'], ended: 0, files: 30 },
    { args: ['import', '--help'], ended: 0, files: 30 },
    { args: ['worker', '--frobnicate'], ended: 2, files: 30 },
    { args: ['send', '--frobnicate'], ended: 2, files: 30 },
    { args: ['send', '--template'], ended: 2, files: 30 },
  ])('notices $args', async ({ args, ended, files }) => {
    const { code, packages, ours } = await loadedBy(args);
    expect([code, packages]).toEqual([ended, ['commander']]);
    expect(ours.length).toBeLessThanOrEqual(files);
    expect(ours.filter((file) => SCHEMAS.test(file))).toEqual([]);
  });
});

it.each([
  { args: ['--help'], ended: 0 },
  { args: ['version'], ended: 2 },
  { args: ['hold', 'place'], ended: 2 },
  { args: ['status', '--help'], ended: 0 },
  { args: ['waiting', '--help'], ended: 0 },
  { args: ['decide', '--help'], ended: 0 },
  { args: ['cancel'], ended: 2 },
])('notices $args: has its flags from schemas, and loads no client', async ({ args, ended }) => {
  const { code, packages } = await loadedBy(args);
  expect([code, packages]).toEqual([ended, ['commander', 'zod']]);
});

it('notices config: reads the environment, and loads no client and no server', async () => {
  const { packages, ours } = await loadedBy(['config', '--producer']);
  expect(packages).toEqual(['commander', 'zod']);
  expect(ours.filter((file) => SCHEMAS.test(file))).toEqual([]);
});

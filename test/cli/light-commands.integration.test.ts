import { describe, expect, it } from 'vitest';
import { runProcess } from './support/process.ts';

/** Writes the address of every module that is imported to standard error. */
const HOOK = `import { writeSync } from 'node:fs';
export async function load(url, context, next) { writeSync(2, url + '\\n'); return next(url, context); }`;
const inline = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const REGISTER = `import { register } from 'node:module'; register(${JSON.stringify(inline(HOOK))});`;

/** The packages that a command imports, how many modules of ours, and those of the schemas of its output. */
async function loadedBy(...args: string[]) {
  const { stderr } = await runProcess(args, { NODE_OPTIONS: `--import=${inline(REGISTER)}` });
  const urls = stderr.split('\n').filter((line) => line.startsWith('file:'));
  const inPackages = urls.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  return {
    packages: new Set(inPackages.filter((name) => name !== undefined)),
    ours: inPackages.filter((name) => name === undefined).length,
    schemas: urls.filter((url) => /\/(?:cli\/json|ops\/answers)\/|find-answer/.test(url)),
  };
}

describe('a command loads what it needs', () => {
  it('notices --version', async () => {
    const { packages, ours } = await loadedBy('--version');
    expect([...packages]).toEqual(['commander']);
    expect(ours).toBeLessThanOrEqual(12);
  });

  it('notices status --help: not the servers', async () => {
    const { packages, schemas } = await loadedBy('status', '--help');
    expect(schemas).toEqual([]);
    expect(packages).toContain('bullmq');
    for (const name of ['axios', 'undici', 'fastify', 'prom-client', 'iconv-lite']) {
      expect(packages).not.toContain(name);
    }
  });

  it('notices --help: all commands', async () => {
    const { ours, schemas } = await loadedBy('--help');
    expect(ours).toBeGreaterThan(100);
    expect(schemas).toEqual([]);
  });
});

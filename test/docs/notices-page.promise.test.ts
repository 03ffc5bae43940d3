import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';
import { Shell } from '../support/shell.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = process.cwd();

/** The shell blocks of the page, in their order. */
const blocks = [
  ...readFileSync('docs/notices.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm),
].map(([, code = '']) => code);

/** A line of a block, and what the comment behind it states of its output. */
function* linesOf(block: string): Generator<readonly [line: string, shown: string]> {
  for (const line of block
    .trimEnd()
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')) {
    const [command = '', shown = ''] = line.split(/ {5}# /);
    yield [command, shown];
  }
}

/*
 * One shell for all blocks, as a reader has one terminal. What differs from the reader's: the address of
 * Redis and the ports are free ones, and `notices` is the built program.
 */
it('docs/notices.md: its commands run as printed, in their order, and show what their comments state', async () => {
  const folder = temporaryFolder();
  // Not the run's Redis: the blocks use the default prefix, which others may use there.
  const redis = await provideRedis({ env: { ...process.env, REDIS_URL: undefined } });
  onTestFinished(() => redis.close());
  const emulatorPort = await freePort();
  const addresses = (code: string) =>
    code
      .replaceAll('redis://127.0.0.1:6379', redis.url)
      .replaceAll('http://127.0.0.1:4010', `http://127.0.0.1:${emulatorPort}`)
      .replaceAll('notices emulator', `notices emulator --port ${emulatorPort}`);
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const program = path.join(bin, 'notices');
  writeFileSync(program, `#!/bin/sh\nexec node ${ROOT}/dist/src/cli/main.js "$@"\n`);
  chmodSync(program, 0o755);
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: folder };
  const shell = new Shell(folder, env);
  onTestFinished(() => shell.close());
  let compared = 0;
  for (const block of blocks) {
    for (const [command, shown] of linesOf(block)) {
      const output = await shell.run(addresses(command));
      expect([command, output]).toEqual([command, expect.stringContaining(shown)]);
      if (shown !== '') compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(5);
}, 240_000);

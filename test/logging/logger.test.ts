import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/wait.ts';

const LOGGER = new URL('../../dist/src/logging/logger.js', import.meta.url).href;

describe('the lines of the log', () => {
  it.each([
    ['that ends by itself', ''],
    ['that exits in the turn in which it logged them', 'process.exit(0);'],
  ])('are all written by a process %s', (_name, end) => {
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger({ logLevel: 'info' }).child({ worker: 'w' });
      for (let at = 0; at < 500; at++) logger.info({ event: 'test', at, contact: '01012345678' });
      ${end}
    });`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject(
      Array.from({ length: 500 }, (_, at) => ({ level: 'info', worker: 'w', at })),
    );
    expect(stdout).not.toContain('01012345678');
  });

  it('are written, up to one of level warn, also by a process that is killed later', async () => {
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger({ logLevel: 'info' });
      for (let at = 0; at < 20; at++) logger.info({ at });
      logger.warn({ at: 20 });
      logger.info({ at: 21 });
      setInterval(() => {}, 60_000);
    });`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const seen: unknown[] = [];
    for await (const line of createInterface(child.stdout)) {
      seen.push((JSON.parse(line) as { at: number }).at);
      if (seen.at(-1) === 20) child.kill('SIGKILL');
    }
    expect(seen.slice(0, 21)).toStrictEqual(Array.from({ length: 21 }, (_, at) => at));
  });

  it.each(['warn', 'error'])('are written at once, each of a burst of level %s', async (level) => {
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger({ logLevel: 'info' });
      for (let at = 0; at < 12; at++) logger.${level}({ at });
      setInterval(() => {}, 60_000);
    });`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const seen: unknown[] = [];
    createInterface(child.stdout).on('line', (line) => seen.push(JSON.parse(line)));
    await until(() => seen.length >= 12, { what: 'the last line of the burst' });
    expect(seen).toMatchObject(Array.from({ length: 12 }, (_, at) => ({ level, at })));
  });

  it('that cannot be written, as on a full disk, end no process and hold up none', () => {
    const script = `import(${JSON.stringify(LOGGER)}).then(async ({ createLogger }) => {
      const logger = createLogger({ logLevel: 'info' });
      for (let at = 0; at < 3; at++) {
        logger.warn({ at });
        // Longer than the write that fails.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      logger.info({ at: 3 });
      process.stderr.write('goes on');
      process.exit(7);
    });`;
    const full = openSync('/dev/full', 'w');
    const { stderr, status } = spawnSync(process.execPath, ['-e', script], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
      timeout: 20_000,
    });
    closeSync(full);
    expect({ stderr, status }).toEqual({ stderr: 'goes on', status: 7 });
  });

  it('share a write, many of them', () => {
    const script = `import(${JSON.stringify(LOGGER)}).then(async ({ createLogger }) => {
      const fs = require('node:fs');
      const { write } = fs;
      let writes = 0;
      fs.write = (...args) => {
        writes++;
        return write(...args);
      };
      const logger = createLogger({ logLevel: 'info' });
      for (let at = 0; at < 1_000; at++) {
        logger.info({ at });
        // As long as a write takes.
        await fs.promises.stat('.');
        await fs.promises.stat('.');
      }
      process.stderr.write(String(writes));
    });`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1_000);
    expect(Number(stderr)).toBeGreaterThan(0);
    expect(Number(stderr)).toBeLessThan(100);
  });

  it('as JSON leave nothing that a terminal obeys, and stay the same values', () => {
    const hostile = Array.from({ length: 0x21_00 }, (_, unit) => String.fromCharCode(unit)).join(
      '',
    );
    const fields = { code: hostile, ['\u009b2J']: '카나리아 😀', nested: { reason: '\u202egnp' } };
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger({ logLevel: 'info' });
      logger.child({ worker: '\u2066w' }).info(${JSON.stringify(fields)});
    });`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toMatchObject({ ...fields, worker: '\u2066w' });
    expect(stdout.slice(0, -1)).not.toMatch(
      /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u,
    );
    expect(stdout).toContain('카나리아 😀');
  });
});

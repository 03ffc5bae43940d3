import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadedFrom, TELL_LOADED } from '../support/loaded.ts';

const run = promisify(execFile);

/** Runs a program of an application, and tells what it has loaded and printed. */
async function application(code: string) {
  const { PATH = '' } = process.env;
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH, ...TELL_LOADED },
  });
  const { packages, ...loaded } = loadedFrom(stderr);
  const own = packages.filter((name) => !OF_DEBUG.has(name));
  return { printed: stdout.trim(), ...loaded, packages: own };
}

/** The package `debug` loads them where another package has installed them. */
const OF_DEBUG = new Set(['has-flag', 'supports-color']);

/** What ioredis consists of. */
const IOREDIS = [
  '@ioredis/commands',
  'cluster-key-slot',
  'debug',
  'denque',
  'ioredis',
  'ms',
  'redis-errors',
  'standard-as-callback',
];

describe("import 'notice-queue'", () => {
  it('loads the Redis client and the validation of options', async () => {
    const { packages, ours } = await application("await import('notice-queue');");
    expect(packages).toEqual([...IOREDIS, 'zod'].toSorted());
    expect(ours.length).toBeLessThanOrEqual(60);
    const folders = new Set(ours.map((file) => file.split('/')[1] ?? ''));
    for (const folder of ['ops', 'cli', 'service', 'tracing', 'metrics', 'fleet']) {
      expect(folders).not.toContain(folder);
    }
    expect(ours.filter((file) => /^src\/batch\/(?:import|source|failures)\//.test(file))).toEqual(
      [],
    );
    expect(ours.filter((file) => file.startsWith('workers/'))).toEqual([]);
  });

  it('what sends need is loaded with the first queue, and nothing more', async () => {
    const { packages, ours } = await application(`
      const { NoticeQueue } = await import('notice-queue');
      await new NoticeQueue({ redis: { url: 'redis://127.0.0.1:1' } }).close();`);
    const more = ['@opentelemetry/api', 'bullmq'];
    expect(packages).toEqual(expect.arrayContaining([...IOREDIS, ...more, 'zod']));
    for (const name of ['iconv-lite', 'axios', 'undici', 'fastify', 'commander', 'pino']) {
      expect(packages).not.toContain(name);
    }
    expect(
      ours.filter((file) => /^src\/(?:batch\/import|search\/find-in|ops)\//.test(file)),
    ).toEqual([]);
  });

  it('a stream that fails while its import is loaded: the error of the import', async () => {
    const { printed, packages } = await application(`
      import { createReadStream } from 'node:fs';
      const { NoticeQueue } = await import('notice-queue');
      const queue = new NoticeQueue({ redis: { url: 'redis://127.0.0.1:1' } });
      const list = createReadStream('/no/such/list.csv');
      const end = queue.import(list, { templateCode: 'T', dryRun: true });
      console.log(await end.then(() => 'imported', ({ code, message }) => code + ' ' + message));
      await queue.close();`);
    expect(printed).toMatch(/^SOURCE_INVALID The stream of the list failed/);
    expect(packages).toContain('iconv-lite');
  });
});

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../bench/harness/postgres.ts';
import { provideRedis } from './redis/provide-redis.ts';

/*
 * Packs the project and runs examples as their readers do: each in a copy of its folder, with the packed file installed, by
 * `npm test`. Arguments name examples; without any, all are run. The last line counts them.
 */
const SOURCE = 'examples';

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const folder = mkdtempSync(path.join(tmpdir(), 'notice-queue-examples-'));
  const redis = await provideRedis();
  // In a folder of its own, which the user that it runs as may enter.
  const database = mkdtempSync(path.join(tmpdir(), 'notice-queue-examples-'));
  const postgres = await startPostgres(database);
  let failed = 0;
  try {
    const tarball = pack(folder);
    const names = named.length > 0 ? named : all();
    for (const name of names) {
      if (name === 'outbox' && postgres === undefined) {
        console.log(`SKIP ${SOURCE}/${name}: no PostgreSQL is installed`);
        continue;
      }
      const began = performance.now();
      const passed = tryExample(name, path.join(folder, name), tarball, {
        REDIS_URL: redis.url,
        DATABASE_URL: postgres?.url,
      });
      if (!passed) failed += 1;
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(`${passed ? 'PASS' : 'FAIL'} ${SOURCE}/${name} (${seconds} s)`);
    }
    console.log(`${names.length - failed} passed, ${failed} failed`);
  } finally {
    await postgres?.close();
    await redis.close();
    rmSync(database, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  }
  if (failed > 0) process.exitCode = 1;
}

function all(): string[] {
  const entries = readdirSync(SOURCE, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

function pack(folder: string): string {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  return path.join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim());
}

function tryExample(
  name: string,
  folder: string,
  tarball: string,
  servers: NodeJS.ProcessEnv,
): boolean {
  cpSync(path.join(SOURCE, name), folder, {
    recursive: true,
    filter: (source) => path.basename(source) !== 'node_modules',
  });
  const env = {
    ...process.env,
    ...servers,
    REDIS_PREFIX: `example-${name}`,
    NOTICE_QUEUE_TARBALL: tarball,
  };
  const npm = (...args: string[]) =>
    execFileSync('npm', args, { cwd: folder, env, stdio: 'inherit', timeout: 300_000 });
  try {
    npm('install', '--no-audit', '--no-fund', '--loglevel=error', tarball);
    npm('test', '--silent');
    return true;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return false;
  }
}

await main();

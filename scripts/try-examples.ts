import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres, type Postgres } from './postgres.ts';
import { findOnPath } from './redis/find-on-path.ts';
import { provideRedis } from './redis/provide-redis.ts';

/*
 * Packs the project and runs examples as their readers do: each in a copy of its folder, with the packed file installed, by
 * `npm test`, or by the package manager that its package.json names. Arguments name examples; without any, all are run, and
 * some again with other versions of what they are built on. The last line counts them.
 */
const SOURCE = 'examples';

/** A run of an example: with other packages than its own, or on another Node. */
interface Trial {
  readonly example: string;
  readonly packages?: readonly string[];
  readonly node?: number;
}

const OWN_NODE = Number(process.versions.node.split('.')[0]);

const VARIANTS: Readonly<Record<string, Trial>> = {
  'nestjs-10': {
    example: 'nestjs',
    packages: ['common', 'core', 'testing'].map((name) => `@nestjs/${name}@10.4.22`),
  },
  ...Object.fromEntries(
    [20, 22, 24].flatMap((node) =>
      ['jest-ts', 'node-test'].map((example) => [`${example}-node-${node}`, { example, node }]),
    ),
  ),
};

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const folder = mkdtempSync(path.join(tmpdir(), 'notice-queue-examples-'));
  const redis = await provideRedis();
  // In a folder of its own, which the user that it runs as may enter.
  const database = mkdtempSync(path.join(tmpdir(), 'notice-queue-examples-'));
  const postgres = await startPostgres(database);
  let failed = 0;
  let skipped = 0;
  try {
    const tarball = pack(folder);
    const names = named.length > 0 ? named : all();
    for (const name of names) {
      const trial = VARIANTS[name] ?? { example: name };
      const reason = cannotRun(trial, postgres);
      if (reason !== undefined) {
        console.log(`SKIP ${SOURCE}/${name}: ${reason}`);
        skipped += 1;
        continue;
      }
      const began = performance.now();
      const servers = { REDIS_URL: redis.url, DATABASE_URL: postgres?.url };
      const passed = tryExample(trial, path.join(folder, name), tarball, servers);
      if (!passed) failed += 1;
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(`${passed ? 'PASS' : 'FAIL'} ${SOURCE}/${name} (${seconds} s)`);
    }
    console.log(`${names.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped`);
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
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const others = Object.entries(VARIANTS).filter(([, { node }]) => node !== OWN_NODE);
  return [...folders, ...others.map(([name]) => name)];
}

function cannotRun({ example }: Trial, postgres: Postgres | undefined): string | undefined {
  if (!existsSync(path.join(SOURCE, example))) throw new Error(`there is no example ${example}`);
  const needs = (word: string) =>
    readFileSync(path.join(SOURCE, example, 'README.md'), 'utf8').includes(word);
  if (needs('DATABASE_URL') && postgres === undefined) return 'no PostgreSQL is installed';
  if (needs('python3') && findOnPath('python3', process.env['PATH']) === undefined) {
    return 'no Python is installed';
  }
  return undefined;
}

function pack(folder: string): string {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  return path.join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim());
}

function tryExample(
  { example, packages = [], node }: Trial,
  folder: string,
  tarball: string,
  servers: NodeJS.ProcessEnv,
): boolean {
  cpSync(path.join(SOURCE, example), folder, {
    recursive: true,
    filter: (source) => path.basename(source) !== 'node_modules',
  });
  const env = {
    ...process.env,
    ...servers,
    REDIS_PREFIX: path.basename(folder),
    NOTICE_QUEUE_TARBALL: tarball,
  };
  const { packageManager } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  ) as { packageManager?: string };
  const shell = (command: string) => {
    const others = [
      ...(packageManager === undefined ? [] : [packageManager]),
      // This package brings the program by an install script.
      ...(node === undefined ? [] : [`node@${node}`]),
    ].flatMap((name) => ['--package', name]);
    const [program, ...args] =
      others.length === 0 ? ['sh', '-c', command] : ['npx', '--yes', ...others, '-c', command];
    execFileSync(program, args, {
      cwd: folder,
      env: node === undefined ? env : { ...env, npm_config_ignore_scripts: 'false' },
      stdio: 'inherit',
      timeout: 300_000,
    });
  };
  const manager = packageManager?.split('@')[0];
  try {
    if (node !== undefined) shell('node --version');
    if (manager === undefined) {
      shell(
        `npm install --no-audit --no-fund --loglevel=error ${[tarball, ...packages].join(' ')}`,
      );
      shell('npm test --silent');
    } else {
      shell(`${manager} add ${tarball}`);
      shell(`${manager} test`);
    }
    return true;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return false;
  }
}

await main();

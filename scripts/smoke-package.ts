import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { freePort } from './redis/free-port.ts';
import { provideRedis } from './redis/provide-redis.ts';

/*
 * Does what a reader of README does: packs the project, installs the tarball into an empty project,
 * pastes README's example there and runs it beside an emulator and a worker of that installation.
 * Passes when the emulator's own record holds what the example sent, once.
 *
 * The example is the first code block after the line `<!-- example -->`. It finds Redis by REDIS_URL,
 * or by the address below, in whose place the one at hand is put.
 */
const EXAMPLE_REDIS = 'redis://127.0.0.1:6379';
const EXAMPLE = /<!-- example -->[\s\S]*?```(?:ts|js)\n([\s\S]*?)```/;
const DEADLINE_MS = 60_000;
const MOST_PACKAGES = 30;
const KEYS = { ACCESS_KEY: 'smoke-access-key', SECRET_KEY: 'smoke-secret-key' };

/** The part of the emulator's record that is checked. */
const recordSchema = z.object({
  contacts: z.number(),
  twice: z.number(),
  tokens: z.object({ issued: z.number() }),
});

type EmulatorRecord = z.infer<typeof recordSchema>;

async function main(): Promise<void> {
  const example = EXAMPLE.exec(readFileSync('README.md', 'utf8'))?.[1];
  if (example === undefined) throw new Error('README.md has no code block after <!-- example -->');

  const project = mkdtempSync(path.join(tmpdir(), 'notice-queue-package-'));
  try {
    npm(process.cwd(), 'pack', '--silent', '--pack-destination', project);
    install(project, '--omit=optional');
    staysLight(project);
    refuses(project, /npm install axios@/, 'doctor');
    loadsLight(project);
    install(project);
    refuses(project, /npm install .*fastify@/, 'ops');
    await runExample(project, example);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

function install(project: string, ...options: string[]): void {
  const tarball = readdirSync(project).find((file) => file.endsWith('.tgz')) ?? '';
  writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  npm(project, 'install', '--silent', ...options, `./${tarball}`);
}

/** What an application installs that only sends. */
function staysLight(project: string): void {
  const lock = readFileSync(path.join(project, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { packages: object };
  const there = Object.keys(packages).filter((folder) => existsSync(path.join(project, folder)));
  if (there.length > MOST_PACKAGES) throw new Error(`${there.length} packages are installed`);
}

/** Where packages that a command needs are left out, it says which. */
function refuses(project: string, hint: RegExp, command: string): void {
  const program = path.join(project, 'node_modules/.bin/notices');
  const { status, stderr } = spawnSync(program, [command], { cwd: project, encoding: 'utf8' });
  if (status !== 2 || !hint.test(stderr)) {
    throw new Error(`notices ${command} ended with ${status}: ${stderr}`);
  }
}

/** An application that only sends loads what its tests need; a worker says what to install. */
function loadsLight(project: string): void {
  const required = `
    const { FakeNoticeQueue } = require('notice-queue/testing');
    const { startNoticeWorker } = require('notice-queue/worker');`;
  const imported = required.replaceAll(/const (.*) = require\((.*)\)/g, 'import $1 from $2');
  for (const load of [required, imported]) {
    const type = `--input-type=${load === required ? 'commonjs' : 'module'}`;
    const text = `${load} new FakeNoticeQueue().ready().then(startNoticeWorker);`;
    const options = { cwd: project, encoding: 'utf8' } as const;
    const { stderr } = spawnSync(process.execPath, [type, '-e', text], options);
    if (!stderr.includes('npm install --include=optional')) throw new Error(stderr);
  }
}

function npm(cwd: string, ...args: string[]): void {
  execFileSync('npm', args, { cwd, stdio: 'inherit' });
}

async function runExample(project: string, example: string): Promise<void> {
  const redis = await provideRedis();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, ...KEYS, REDIS_URL: redis.url, BASE_URL: url };
  const children: ChildProcess[] = [];
  // Their words are shown, for they are what explains a failure.
  const notices = (...args: string[]) => {
    const program = path.join(project, 'node_modules/.bin/notices');
    children.push(spawn(program, args, { cwd: project, env, stdio: 'inherit' }));
  };
  try {
    const keys = ['--access-key', KEYS.ACCESS_KEY, '--secret-key', KEYS.SECRET_KEY];
    notices('emulator', '--port', `${port}`, ...keys);
    await awaitRecord(url, 'the emulator', () => true);
    notices('worker');

    const pasted = path.join(project, 'example.js');
    writeFileSync(pasted, example.replaceAll(EXAMPLE_REDIS, redis.url));
    const options = { cwd: project, env, stdio: 'inherit', timeout: DEADLINE_MS } as const;
    execFileSync(process.execPath, [pasted], options);

    const record = await awaitRecord(url, 'the notice', ({ contacts }) => contacts > 0);
    const sent = `The pasted example sent ${record.contacts} contacts with ${record.tokens.issued} token`;
    if (record.twice > 0) throw new Error(`${sent}, ${record.twice} of them twice.`);
    console.log(`${sent}, none twice.`);
  } finally {
    await Promise.all(children.map(stop));
    await redis.close();
  }
}

async function awaitRecord(
  url: string,
  what: string,
  isIt: (record: EmulatorRecord) => boolean,
): Promise<EmulatorRecord> {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    const record = await readRecord(url);
    if (record !== undefined && isIt(record)) return record;
    await delay(100);
  }
  throw new Error(`waited ${DEADLINE_MS} ms for ${what}`);
}

/** Undefined while there is no response. */
async function readRecord(url: string): Promise<EmulatorRecord | undefined> {
  try {
    const answer = await fetch(`${url}/control/record`);
    return recordSchema.parse(await answer.json());
  } catch {
    return undefined;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 45_000);
  await ended;
  clearTimeout(late);
}

await main();

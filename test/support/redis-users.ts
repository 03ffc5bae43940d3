import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { inject } from 'vitest';
import { withConstants } from './constants.ts';
import type { TestServers } from './test-servers.ts';

/** The user of a kind of program. */
export type User = 'producer' | 'importer' | 'worker' | 'ops';

/** The same, or a program that sends and imports: docs/redis.md gives it the keys of both lines. */
export type Program = User | 'application';

interface Credentials {
  readonly REDIS_USERNAME: string;
  readonly REDIS_PASSWORD: string;
}

/** Users of commands as docs/redis.md lists them; every other command has that of the ops server. */
const USERS: Readonly<Record<string, User>> = {
  send: 'producer',
  import: 'importer',
  batches: 'importer',
  batch: 'importer',
  worker: 'worker',
};

const passwordOf = (user: string) => `password of ${user}`;

/** Lines of the ACL file as docs/redis.md shows them. */
export function documentedLines(): string[] {
  const page = readFileSync('docs/redis.md', 'utf8');
  return (/^```acl\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '').trim().split('\n');
}

/** The documented lines, and that of a producer that also imports. */
function linesOfPrograms(): string[] {
  const lines = documentedLines();
  const lineOf = (user: User) =>
    lines.find((line) => line.startsWith(`user notices-${user} `)) ?? '';
  const keys = lineOf('importer').match(/ ~\S+/g) ?? [];
  const both = `${lineOf('producer')}${keys.join('')}`;
  return [...lines, both.replace('notices-producer', 'notices-application')];
}

/** The credentials of a user. */
export function credentialsOf(user: Program): Credentials {
  const name = `notices-${user}`;
  return { REDIS_USERNAME: name, REDIS_PASSWORD: passwordOf(name) };
}

/**
 * Gives a server the documented users, but the default one.
 *
 * @param prefix the beginning of REDIS_PREFIX that they may use, in place of the documented one
 */
export async function addUsers(admin: Redis, prefix = 'notices:'): Promise<void> {
  for (const line of linesOfPrograms()) {
    const [, name = '', ...rules] = line.replaceAll('{notices:', `{${prefix}`).split(' ');
    if (name === 'default') continue;
    await admin.call('ACL', 'SETUSER', name, ...rules, `>${passwordOf(name)}`);
  }
}

/** Credentials of the user whom Redis has from the beginning: it may read the configuration of Redis. */
export const EVERY_RIGHT: Credentials = { REDIS_USERNAME: 'default', REDIS_PASSWORD: 'any' };

/** Whether a URL leads to a server that the project started for its tests: it has the users. */
function hasUsers(url: string): boolean {
  // Undefined where no setup of the project provided it.
  const servers = inject('redis') as TestServers | undefined;
  return servers?.areOurs === true && servers.urls.includes(url);
}

/**
 * The environment of a program: on a shared Redis of the tests it connects as the user of its kind. Constants of the
 * program are set as variables are.
 */
export function environmentAs(
  user: Program,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const isGiven = env['REDIS_USERNAME'] !== undefined;
  const set = withConstants(env);
  if (isGiven || !hasUsers(env['REDIS_URL'] ?? '')) return set;
  return { ...set, ...credentialsOf(user) };
}

/** The environment of a command: as `environmentAs`. */
export function asUser(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  return environmentAs(USERS[args[0] ?? ''] ?? 'ops', env);
}

/** How an object of the library connects: on a shared Redis of the tests as the user of its kind. */
export interface Connection {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * The option `redis` of an object of the library: as `environmentAs`.
 *
 * @param through where it connects in place of the server: a proxy before it
 */
export function connectionAs(user: Program, server: string, through = server): Connection {
  if (!hasUsers(server)) return { url: through };
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = credentialsOf(user);
  return { url: through, username, password };
}

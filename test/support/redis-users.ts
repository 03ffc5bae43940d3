import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { inject } from 'vitest';
import type { TestServers } from './test-servers.ts';

/** The user of a kind of program. */
export type User = 'producer' | 'importer' | 'worker' | 'ops';

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

/** The credentials of a user. */
export function credentialsOf(user: User): Credentials {
  const name = `notices-${user}`;
  return { REDIS_USERNAME: name, REDIS_PASSWORD: passwordOf(name) };
}

/**
 * Gives a server the documented users, but the default one.
 *
 * @param prefix the beginning of REDIS_PREFIX that they may use, in place of the documented one
 */
export async function addUsers(admin: Redis, prefix = 'notices:'): Promise<void> {
  for (const line of documentedLines()) {
    const [, name = '', ...rules] = line.replaceAll('{notices:', `{${prefix}`).split(' ');
    if (name === 'default') continue;
    await admin.call('ACL', 'SETUSER', name, ...rules, `>${passwordOf(name)}`);
  }
}

/** Credentials of the user whom Redis has from the beginning: it may read the configuration of Redis. */
export const EVERY_RIGHT: Credentials = { REDIS_USERNAME: 'default', REDIS_PASSWORD: 'any' };

/** The environment of a command on the Redis of this test: it connects as the user of its kind. */
export function asUser(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  // Undefined where no setup of the project provided it.
  const servers = inject('redis') as TestServers | undefined;
  const isOurs = servers?.areOurs === true && servers.urls.includes(env['REDIS_URL'] ?? '');
  if (!isOurs || env['REDIS_USERNAME'] !== undefined) return { ...env };
  return { ...env, ...credentialsOf(USERS[args[0] ?? ''] ?? 'ops') };
}

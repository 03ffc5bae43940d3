import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { addUsers, credentialsOf, documentedLines, type User } from '../../support/redis-users.ts';

/** Gives a server the documented users, also the default one, and one that may do everything. @returns a connection of the latter */
async function replaceUsers(url: string): Promise<Redis> {
  const anyone = new Redis(url);
  await anyone.call('ACL', 'SETUSER', 'test', 'on', '>test', '+@all', '~*', '&*');
  const admin = new Redis(url, { username: 'test', password: 'test' });
  await addUsers(admin);
  for (const line of documentedLines()) {
    const [, name, ...rules] = line.split(' ');
    if (name === 'default') await admin.call('ACL', 'SETUSER', name, ...rules);
  }
  anyone.disconnect();
  return admin;
}

/** What a server refused since the last call: user, reason and object of each. */
async function refusedBy(admin: Redis): Promise<string[]> {
  const entries = (await admin.call('ACL', 'LOG')) as string[][];
  await admin.call('ACL', 'LOG', 'RESET');
  return entries.map((entry) => {
    const field = (name: string) => entry[entry.indexOf(name) + 1] ?? '';
    return `${field('username')}: ${field('reason')} ${field('object')}`;
  });
}

/** A Redis that has the users of docs/redis.md and no others, but the test's own. Call it once at the top of a test file. */
export function aclRedis() {
  let server: RedisServer | undefined;
  let admin: Redis | undefined;
  const client = () => {
    if (admin === undefined) throw new Error('the server is not started yet');
    return admin;
  };
  beforeAll(async () => {
    // Without an append-only file programs ask for CONFIG, which no user has.
    server = await startRedisServer({ persistence: true });
    admin = await replaceUsers(server.url);
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.close();
  });
  return {
    get url() {
      return server?.url ?? '';
    },
    /** May do everything. */
    get admin() {
      return client();
    },
    /** What leads a program to this Redis as a user. */
    envOf: (user: User) => ({ REDIS_URL: server?.url ?? '', ...credentialsOf(user) }),
    /** What it refused since the last call. */
    refused: () => refusedBy(client()),
  };
}

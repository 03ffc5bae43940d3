import { randomBytes } from 'node:crypto';
import { Worker, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { claimOne, type Claim } from './claim.ts';
import { connectionAs, type Program } from './redis-users.ts';
import type { TestServers } from './test-servers.ts';
import { until } from './wait.ts';

const LEFTOVER_DEADLINE_MS = 5_000;

/** What kind of connection a test wants. */
interface ConnectOptions {
  /** Its name in Redis' list of clients. Default: `test`. */
  readonly name?: string;
  /** Commands wait for a lost connection without end, as BullMQ's workers require. Default: false. */
  readonly forWorker?: boolean;
}

/** The worker's Redis as one test file sees it: a corner of its own, cleaned and checked at the end. */
export type TestRedis = ReturnType<typeof testRedis>;

/**
 * Call it once at the top of a test file, so that its check runs after every other hook. After the
 * last test it fails the file when a connection that the file opened is still there (a worker, a
 * queue or a process that was not closed), or a key outside the file's namespace; then it deletes
 * the namespace. On a Redis that REDIS_URL named, others come and go: there it only deletes.
 */
export function testRedis() {
  const { url, ours, release } = redisOfThisWorker();
  const prefix = `nq-test-${randomBytes(6).toString('hex')}`;
  const opened: Redis[] = [];
  let client: Redis | undefined;
  let prefixes = 0;

  /** Another connection, closed for you at the end of the file. */
  const connect = ({ name = 'test', forWorker = false }: ConnectOptions = {}) => {
    const maxRetriesPerRequest = forWorker ? null : 1;
    const redis = new Redis(url, { connectionName: name, maxRetriesPerRequest });
    // A test that kills its connection sees the command fail; this keeps ioredis from printing it.
    redis.on('error', () => {});
    opened.push(redis);
    return redis;
  };
  const admin = () => (client ??= connect());
  /** Keys of this file's namespace, sorted. Without an argument those of all its tests. */
  const keys = (of = prefix) => scan(admin(), `*${of}*`);
  /** Deletes the keys of this file's namespace and nothing else. */
  const cleanup = async () => {
    for (const batch of inBatches(await keys(), 500)) await admin().unlink(...batch);
  };

  let before: { clients: Set<string>; keys: Set<string> } | undefined;
  beforeAll(async () => {
    if (!ours) return;
    before = {
      clients: new Set((await clients(admin())).map(({ id }) => id)),
      keys: new Set(await scan(admin(), '*')),
    };
  });
  afterAll(async () => {
    for (const redis of opened) if (redis !== client) redis.disconnect();
    try {
      if (before !== undefined) await noStrangers(admin(), before.clients);
    } finally {
      await cleanup();
      try {
        if (before !== undefined) await noStrayKeys(admin(), before.keys);
      } finally {
        client?.disconnect();
        release();
      }
    }
  });

  /** A namespace inside `prefix` that nobody has used: one for each test. */
  const freshPrefix = () => `${prefix}-${(prefixes += 1)}`;
  return {
    url,
    /** Namespace of this file: use it as REDIS_PREFIX, or as the beginning of every key. */
    prefix,
    /** A connection for looking at what the code under test wrote. Opened on first use. */
    get client() {
      return admin();
    },
    freshPrefix,
    /** An account of its own. */
    account: (of = freshPrefix()) => accountOf(url, of, connect),
    connect,
    keys,
    cleanup,
  };
}

/** An account: its namespace and keys, the environment of its commands, and queues that the end of the test closes. */
function accountOf(url: string, prefix: string, connect: (options: ConnectOptions) => Redis) {
  const keys = keysOf(prefix, 'default');
  const queueAs = (user: Program, options: NoticeQueueOptions = {}) => {
    const queue = new NoticeQueue({ redis: connectionAs(user, url), prefix, ...options });
    onTestFinished(() => queue.close());
    return queue;
  };
  return {
    prefix,
    keys,
    env: { REDIS_URL: url, REDIS_PREFIX: prefix },
    queueAs,
    /** That of a producer. Opened on use. */
    get queue() {
      return queueAs('producer');
    },
    /** A worker that runs nothing: the test takes its jobs with `getNextJob`. */
    taker: (more: Partial<WorkerOptions> = {}) => {
      const connection = connect({ name: 'taker', forWorker: true });
      const options = { connection, prefix: keys.bullPrefix, autorun: false, ...more };
      const worker = new Worker(QUEUE_NAME, undefined, options);
      onTestFinished(() => worker.close());
      return worker;
    },
  };
}

/** The Redis of this process, and how often this test file uses it (`testRedis()`). */
let claimed: Claim | undefined;
let users = 0;

/** @throws Error in a tier that has no Redis */
function redisOfThisWorker(): { url: string; ours: boolean; release: () => void } {
  // Undefined where no setup of the project provided it.
  const servers = inject('redis') as TestServers | undefined;
  if (servers === undefined) {
    throw new Error('this tier has no Redis: name the file *.integration.test.ts');
  }
  claimed ??= claimOne(servers.claims, servers.urls.length);
  users += 1;
  return { url: servers.urls[claimed.index] ?? '', ours: servers.areOurs, release: releaseRedis };
}

/** Gives the Redis of this process back, after its last user in this test file. */
function releaseRedis(): void {
  users -= 1;
  if (users > 0) return;
  claimed?.release();
  claimed = undefined;
}

/** Closing a connection takes a moment on the server's side, so a leftover is one that stays. */
async function noStrangers(redis: Redis, known: ReadonlySet<string>): Promise<void> {
  const own = String(await redis.client('ID'));
  let left: Client[] = [];
  const gone = async () => {
    left = (await clients(redis)).filter(({ id }) => id !== own && !known.has(id));
    return left.length === 0;
  };
  await until(gone, { what: 'connections to close', deadlineMs: LEFTOVER_DEADLINE_MS }).catch(
    () => {
      const names = left.map(
        ({ name, command }) => `${name || 'without a name'} (last: ${command})`,
      );
      throw new Error(`${left.length} Redis connections are left open: ${names.join(', ')}`);
    },
  );
}

async function noStrayKeys(redis: Redis, known: ReadonlySet<string>): Promise<void> {
  const stray = (await scan(redis, '*')).filter((key) => !known.has(key));
  if (stray.length === 0) return;
  await redis.unlink(...stray);
  throw new Error(`keys outside the file's namespace: ${stray.slice(0, 5).join(', ')}`);
}

interface Client {
  readonly id: string;
  readonly name: string;
  readonly command: string;
}

async function clients(redis: Redis): Promise<Client[]> {
  const list = String(await redis.client('LIST'));
  return list
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({
      id: /\bid=(\d+)/.exec(line)?.[1] ?? '',
      name: / name=(\S*)/.exec(line)?.[1] ?? '',
      command: / cmd=(\S*)/.exec(line)?.[1] ?? '',
    }));
}

async function scan(redis: Redis, pattern: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, page] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
    for (const key of page) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found].sort();
}

function* inBatches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { NoticeAdmin } from '../../src/admin/index.ts';
import { InputError, NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { startTlsFront } from '../chaos/support/tls-front.ts';
import { certificate } from '../service/support/servers.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { contacts, waitingIds } from './support/stored-jobs.ts';

const redis = testRedis();
const port = Number(new URL(redis.url).port);
const NOTICE = { templateCode: 'T', contacts: contacts(1) };
const { cert } = certificate('local');

type Connection = NonNullable<NonNullable<NoticeQueueOptions['redis']>['connection']>;

/** A connection of an application; it never connects unless a test asks it to. */
function application(options: Omit<RedisOptions, 'replyMapping'>): Redis {
  const connection = new Redis(Object.assign(options, { lazyConnect: true }));
  connection.on('error', () => {});
  onTestFinished(() => connection.disconnect());
  return connection;
}

/** Sends one notice through a queue with this connection. */
async function sendThrough(connection: Connection, prefix = redis.freshPrefix()): Promise<string> {
  await using queue = new NoticeQueue({ redis: { connection }, prefix, enqueueTimeoutMs: 5_000 });
  await queue.send(NOTICE);
  return prefix;
}

describe('a connection of the application', () => {
  it('tells where Redis is; it is neither used nor closed', async () => {
    const connection = application({ port, host: '127.0.0.1', maxRetriesPerRequest: 3 });
    const before = { ...connection.options };
    const prefix = await sendThrough(connection);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
    expect(connection.status).toBe('wait');
    expect(connection.options).toEqual(before);
    expect(await connection.ping()).toBe('PONG');
  });

  it('may be closed while the queue is used', async () => {
    const connection = application({ port, host: '127.0.0.1' });
    await connection.ping();
    const prefix = redis.freshPrefix();
    await using queue = new NoticeQueue({ redis: { connection }, prefix });
    await queue.send(NOTICE);
    await connection.quit();
    await queue.send(NOTICE);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(2);
  });

  it('may be given as options, with the settings that BullMQ asks for', async () => {
    const prefix = await sendThrough({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
  });

  it('gives its database, its name, imports, events and actions', async () => {
    const prefix = redis.freshPrefix();
    const connection = application({ port, host: '127.0.0.1', db: 3, connectionName: 'of-app' });
    const options = { redis: { connection }, prefix };
    const other = redis.client.duplicate({ db: 3 });
    onTestFinished(() => other.disconnect());
    await using queue = new NoticeQueue(options);
    await queue.send(NOTICE);
    expect(String(await redis.client.client('LIST'))).toContain('name=of-app');
    const { batch } = await queue.import([{ contact: '01012345678' }], { templateCode: 'T' });
    for await (const event of queue.events({ signal: AbortSignal.timeout(1) })) void event;
    const found = await new NoticeAdmin(options).run('batch', { id: batch });
    expect(found.batch).toMatchObject({ phase: 'sending' });
    expect(await redis.keys(prefix)).toEqual([]);
    const keys = await other.keys(`*${prefix}*`);
    expect(keys.length).toBeGreaterThan(3);
    await other.unlink(...keys);
  });

  it('takes precedence over the environment', async () => {
    vi.stubEnv('REDIS_URL', `redis://127.0.0.1:${await freePort()}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const prefix = redis.freshPrefix();
    const connection = application({ port, host: '127.0.0.1' });
    await using queue = NoticeQueue.fromEnv({ redis: { connection }, prefix });
    await queue.send(NOTICE);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
  });

  it('repeats what was under way when its own settings would not', async () => {
    const prefix = redis.freshPrefix();
    const connection = application({
      port,
      host: '127.0.0.1',
      retryStrategy: () => null,
      enableOfflineQueue: false,
    });
    await using queue = new NoticeQueue({ redis: { connection }, prefix });
    await queue.send(NOTICE);
    await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await queue.send(NOTICE);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(2);
  });
});

describe('a connection with a password', () => {
  let server: RedisServer | undefined;
  afterAll(() => server?.close());

  it('is read from its options or its URL; a wrong one is refused by Redis', async () => {
    server = await startRedisServer();
    const admin = new Redis(server.url);
    await admin.call('ACL', 'SETUSER', 'app', 'on', '>of the app', '+@all', '~*', '&*');
    await admin.call('ACL', 'SETUSER', 'default', 'off');
    admin.disconnect();
    const address = { host: '127.0.0.1', port: server.port, username: 'app' };
    await sendThrough(application({ ...address, password: 'of the app' }));
    const url = `redis://app:${encodeURIComponent('of the app')}@127.0.0.1:${server.port}/0`;
    const byUrl = new Redis(url, { lazyConnect: true });
    onTestFinished(() => byUrl.disconnect());
    await sendThrough(byUrl);
    const wrong = new NoticeQueue({
      redis: { connection: { ...address, password: 'another' } },
      enqueueTimeoutMs: 1_000,
    });
    onTestFinished(() => wrong.close());
    await expect(wrong.send(NOTICE)).rejects.toMatchObject({
      code: 'QUEUE_REFUSED',
      message: expect.stringContaining('Redis refuses the user or the password.') as string,
    });
  });
});

describe('a connection with TLS', () => {
  it('checks the certificate by its own authority and name', async () => {
    const front = await startTlsFront(port);
    onTestFinished(() => front.close());
    const address = { host: '127.0.0.1', port: front.port };
    const prefix = await sendThrough(application({ ...address, tls: { ca: cert } }));
    expect(await waitingIds(redis.client, prefix)).toHaveLength(1);
    for (const tls of [{}, { ca: cert, servername: 'another.example' }]) {
      const queue = new NoticeQueue({
        redis: { connection: { ...address, tls } },
        enqueueTimeoutMs: 500,
      });
      onTestFinished(() => queue.close());
      await expect(queue.send(NOTICE)).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    }
    // The last thing a client of ours does is to break off the handshake.
    await until(() => front.refused > 0, { what: 'the refusals' });
  });
});

describe('a connection to a Cluster', () => {
  it('is opened with its nodes and the options of its nodes', async () => {
    let busPort = await freePort();
    while (busPort >= 55_000) busPort = await freePort();
    const args = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '192.0.2.1'];
    const server = await startRedisServer({ port: busPort, args });
    onTestFinished(() => server.close());
    const admin = new Redis(server.url);
    onTestFinished(() => admin.disconnect());
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await admin.call('ACL', 'SETUSER', 'app', 'on', '>of the app', '+@all', '~*', '&*');
    await until(async () => /state:ok/.test(String(await admin.call('CLUSTER', 'INFO'))), {
      what: 'the cluster',
    });
    const cluster = new Cluster([{ host: 'a.example', port: busPort }], {
      lazyConnect: true,
      natMap: { [`192.0.2.1:${busPort}`]: { host: '127.0.0.1', port: busPort } },
      dnsLookup: (_, found) => found(null, '127.0.0.1', 4),
      redisOptions: { username: 'app', password: 'of the app', maxRetriesPerRequest: null },
    });
    const insecureHosts = ['a.example'];
    await using queue = new NoticeQueue({ redis: { connection: cluster, insecureHosts } });
    await queue.send(NOTICE);
    expect(await waitingIds(admin, 'notices')).toHaveLength(1);
    expect(cluster.status).toBe('wait');
    expect(await admin.call('CLIENT', 'LIST')).toContain('user=app');
  });
});

describe('a connection that is not safe', () => {
  const TLS_HOSTS = 'expected tls, a host of this machine, or its host in insecureHosts';
  const at = (name: string) => `redis.connection.${name}`;
  const cluster = (nodes: unknown, options: object = {}) => ({
    isCluster: true,
    startupNodes: nodes,
    options,
    duplicate: () => undefined,
  });
  const local = [{ host: '127.0.0.1', port: 1 }];
  const rows: [title: string, connection: unknown, field: string, problem: string][] = [
    [
      'a prefix of its own',
      { keyPrefix: 'app:' },
      at('keyPrefix'),
      'expected none: the option prefix of the queue is the beginning of every key, and all programs must use the same',
    ],
    ['a remote host without TLS', { host: 'redis.example' }, 'redis.connection', TLS_HOSTS],
    [
      'a remote Sentinel without TLS',
      { sentinels: [{ host: 's.example' }], name: 'm' },
      'redis.connection',
      TLS_HOSTS,
    ],
    ['a remote node without TLS', cluster([{ host: 'c.example' }]), 'redis.connection', TLS_HOSTS],
    [
      'TLS that accepts any certificate',
      { tls: { rejectUnauthorized: false } },
      at('tls'),
      'rejectUnauthorized',
    ],
    ['a Unix socket', { path: '/run/redis.sock' }, at('path'), 'a Unix socket is not supported'],
    ['a replica', { role: 'slave' }, at('role'), 'expected master'],
    ['reads only', { readOnly: true }, at('readOnly'), 'expected false'],
    ['a port that is none', { port: 70_000 }, at('port'), 'expected a port from 1 to 65535'],
    ['a password that is no text', { password: 7 }, at('password'), 'expected a text'],
    [
      'a URL',
      'redis://127.0.0.1',
      'redis.connection',
      'expected an ioredis connection or its options',
    ],
    ['null', null, 'redis.connection', 'expected an ioredis connection or its options'],
    [
      'Sentinels without a master',
      { sentinels: [{ host: '127.0.0.1' }] },
      at('name'),
      'expected the name of the master',
    ],
    [
      'Sentinels, and TLS to one side only',
      { sentinels: [{ host: '127.0.0.1' }], name: 'm', tls: {} },
      at('enableTLSForSentinelMode'),
      'expected tls, sentinelTLS and enableTLSForSentinelMode: true together, or none of them',
    ],
    [
      'a Cluster that reads from replicas',
      cluster(local, { scaleReads: 'all' }),
      at('scaleReads'),
      'expected master',
    ],
    [
      'a Cluster with a prefix',
      cluster(local, { redisOptions: { keyPrefix: 'app:' } }),
      at('redisOptions.keyPrefix'),
      'expected none',
    ],
    [
      'a Cluster with a database',
      cluster(local, { redisOptions: { db: 1 } }),
      at('redisOptions.db'),
      'expected database 0: a cluster has no other',
    ],
    [
      'a Cluster with a password of a node',
      cluster([{ host: '127.0.0.1', password: 'CANARY' }]),
      at('startupNodes'),
      'belongs into redisOptions',
    ],
    [
      'a Cluster without nodes',
      cluster([]),
      at('startupNodes'),
      'expected nodes with host and port',
    ],
  ];
  it.each(rows)('%s is refused', (_, connection, field, problem) => {
    const error = refusalOf({ connection });
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.issues).toHaveLength(1);
    expect(error.issues[0]?.field).toMatch(field);
    expect(`${error.issues[0]?.field}: ${error.issues[0]?.problem}`).toContain(problem);
    expect(error.message).not.toContain('CANARY');
  });

  it('is refused beside an address, and while Node.js checks no certificates', () => {
    const both = refusalOf({ connection: {}, url: redis.url, password: 'CANARY' });
    expect(both.issues).toEqual(
      ['redis.url', 'redis.password'].map((name) => ({
        field: name,
        problem: 'expected nothing beside connection, which tells the server',
      })),
    );
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const unsafe = refusalOf({ connection: { port, host: '127.0.0.1' } });
    expect(unsafe.issues.map(({ field }) => field)).toEqual(['NODE_TLS_REJECT_UNAUTHORIZED']);
  });

  it('may lead to a host that is named as insecure', async () => {
    const connection = { host: 'redis.example' };
    const queue = new NoticeQueue({ redis: { connection, insecureHosts: ['redis.example'] } });
    await expect(queue.close()).resolves.toBeUndefined();
  });

  function refusalOf(options: object): InputError {
    let error: unknown;
    try {
      void new NoticeQueue({ redis: options }).close();
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof InputError)) throw new TypeError('it was accepted', { cause: error });
    return error;
  }
});

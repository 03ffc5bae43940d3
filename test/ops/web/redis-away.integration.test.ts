import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { RedisErrorMonitor } from '../../../src/ops/web/http/redis-error-monitor.ts';
import { until } from '../../support/wait.ts';
import { pathOf, startOps, type Caller } from './support/ops-bench.ts';

/** A test of these waits for commands that time out, one after the other. */
const PATIENT = 120_000;
const DEADLINE_MS = 30_000;

/** Without it nothing is looked for in Redis. */
const ENV = { FIND_KEY: '5'.repeat(64) };
/** What needs no Redis; the metrics say themselves that it is away. */
const WITHOUT = new Set(['/api/v1/session', '/api/v1/openapi.json', '/metrics']);

describe('while Redis is away', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(async () => {
    await server.close();
  });

  // Operations that take a body are tried in their matrix.
  const routes = OPS_ROUTES.filter(({ kind, path, method }) => {
    return kind === 'api' && method === 'GET' && !WITHOUT.has(path);
  });

  async function answers(caller: Caller): Promise<[string, number, unknown][]> {
    return Promise.all(
      routes.map(async (route): Promise<[string, number, unknown]> => {
        const path =
          route.path === '/api/v1/notices' ? `${route.path}?idempotencyKey=k` : pathOf(route);
        const reply = await caller.get(path);
        return [`${route.method} ${route.path}`, reply.status, reply.json['detail']];
      }),
    );
  }

  it(
    'every route says so, in plain words, and serves again when it is back',
    async () => {
      const bench = await startOps(server.url, 'away', ENV);
      const operator = await bench.operator();
      expect((await bench.nobody.get('/readyz')).status).toBe(200);
      expect((await operator.get('/api/v1/status')).status).toBe(200);

      await server.kill('SIGKILL');
      const away = async () => (await bench.nobody.get('/readyz')).status === 503;
      await until(away, { what: '/readyz to notice', deadlineMs: DEADLINE_MS });
      const cause = `Nothing listens at 127.0.0.1:${server.port}: Redis is down, or REDIS_URL names another port.`;
      const noticed = async () => (await operator.get('/api/v1/status')).json['detail'] === cause;
      await until(noticed, { what: 'the cause to be known', deadlineMs: DEADLINE_MS });
      for (const [route, ...answer] of await answers(operator)) {
        expect([route, ...answer]).toEqual([route, 503, cause]);
      }

      expect((await bench.nobody.get('/livez')).status).toBe(200);
      const ready = await bench.nobody.get('/readyz');
      expect(ready.json).toEqual({ status: 'unready', reasons: ['QUEUE_UNAVAILABLE'] });
      expect(ready.text).not.toContain(String(server.port));

      const page = await operator.get('/', { accept: 'text/html' });
      expect(page.status).toBe(503);
      expect(page.headers['retry-after']).toBe('2');
      expect(page.text).toContain('Redis is away');
      expect(page.text).toContain(cause);
      expect(page.text).toContain('data-retry="2"');

      const board = await operator.get('/queues/api/queues?activeQueue=send');
      expect([board.status, board.json['message']]).toEqual([503, cause]);

      const sent = await bench.key('sender').post('/api/v1/notices', {
        notice: { templateCode: 'T', contacts: [{ contact: '01000000001' }] },
      });
      expect(sent).toMatchObject({ status: 503, json: { code: 'QUEUE_UNAVAILABLE' } });
      expect(sent.json['detail']).toContain('nothing was queued');

      await server.restart();
      const back = async () => (await operator.get('/api/v1/status')).status === 200;
      await until(back, { what: 'the API to serve again', deadlineMs: DEADLINE_MS });
      expect((await bench.nobody.get('/readyz')).status).toBe(200);
      expect((await operator.get('/', { accept: 'text/html' })).status).toBe(200);
    },
    PATIENT,
  );

  it(
    'and when it is frozen, after a bounded time',
    async () => {
      const bench = await startOps(server.url, 'frozen', ENV);
      const operator = await bench.operator();
      expect((await operator.get('/api/v1/status')).status).toBe(200);
      await server.kill('SIGSTOP');
      try {
        for (const [route, status, detail] of await answers(operator)) {
          expect([route, status]).toEqual([route, 503]);
          expect(detail).toContain('does not answer in time');
        }
        expect((await bench.nobody.get('/livez')).status).toBe(200);
        expect((await bench.nobody.get('/readyz')).status).toBe(503);
      } finally {
        await server.kill('SIGCONT');
      }
      const back = async () => (await operator.get('/api/v1/status')).status === 200;
      await until(back, { what: 'the API to serve again', deadlineMs: DEADLINE_MS });
    },
    PATIENT,
  );

  it(
    'a sign-out counts in this browser, and says no more',
    async () => {
      const here = await startOps(server.url, 'signed-out');
      const { cookie = '', 'x-csrf-token': token = '' } = (await here.viewer()).headers;
      await server.kill('SIGKILL');
      const body = new URLSearchParams({ _csrf: token }).toString();
      const reply = await here.ask('/sign-out', { method: 'POST', headers: { cookie }, body });
      expect(reply.status).toBe(503);
      expect(reply.headers['set-cookie']?.[0]).toMatch(/^notices=; .*1970/);
      expect(reply.text).toContain('signed out in this browser. Redis did not');
      expect(here.lines.filter(({ event }) => event === 'ops-signed-out')).toEqual([]);
      expect(here.lines.filter(({ event }) => event === 'ops-signed-out-here-only')).toMatchObject([
        { level: 40, who: 'vera', code: expect.any(String) as unknown },
      ]);
      await server.restart();
    },
    PATIENT,
  );

  it(
    'the server starts all the same',
    async () => {
      await server.kill('SIGKILL');
      const bench = await startOps(server.url, 'later');
      const operator = await bench.operator();
      expect((await operator.get('/api/v1/hold')).status).toBe(503);
      await server.restart();
      const back = async () => (await operator.get('/api/v1/status')).status === 200;
      await until(back, { what: 'the API to serve', deadlineMs: DEADLINE_MS });
    },
    PATIENT,
  );
});

describe('what is likely wrong with Redis', () => {
  const settings = { sentinels: [], cluster: [], connectTimeoutMs: 1 };
  const failure = (code: string) => Object.assign(new Error('secret command'), { code });

  test.each([
    [failure('ECONNREFUSED'), 'Nothing listens at db:6380: Redis is down'],
    [failure('ENOTFOUND'), 'The host name of db:6380 does not exist'],
    [failure('ETIMEDOUT'), 'db:6380 does not answer: a firewall'],
    [new Error('WRONGPASS invalid username-password pair'), 'refuses the user or the password'],
    [new Error('NOAUTH Authentication required.'), 'requires a password: set REDIS_PASSWORD'],
    [new Error('Command timed out'), 'does not answer in time'],
    ['nonsense', 'does not answer in time'],
  ])('%s', (error, words) => {
    const watch = new RedisErrorMonitor({ ...settings, url: 'redis://user:topsecret@db:6380/1' });
    watch.failed(error, 7);
    expect(watch.trouble?.cause).toContain(words);
    expect(watch.trouble?.since).toBe(7);
    expect(watch.explain()).not.toMatch(/topsecret|secret command|user:/);
  });

  it('is what the connection said, not the command that met it, and is over when it is back', () => {
    const watch = new RedisErrorMonitor({ ...settings, url: 'redis://[::1]' });
    expect(watch.trouble).toBeUndefined();
    watch.failed(failure('ECONNREFUSED'), 1);
    watch.failed(new Error("Stream isn't writeable"), 2);
    expect(watch.trouble).toMatchObject({ since: 1 });
    expect(watch.trouble?.cause).toContain('Nothing listens at [::1]:6379');
    watch.recovered();
    expect(watch.trouble).toBeUndefined();
  });

  it('names the nodes of a cluster', () => {
    const cluster = [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
    ];
    const watch = new RedisErrorMonitor({ ...settings, url: 'redis://ignored', cluster });
    watch.failed(failure('ENOTFOUND'), 1);
    expect(watch.explain()).toContain('a:7000, b:7001');
  });
});

import { afterAll, describe, expect, it, test } from 'vitest';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import { RedisErrorMonitor } from '../../../src/ops/web/http/redis-error-monitor.ts';
import { until } from '../../support/wait.ts';
import { pathOf, startOps, type Caller } from './support/ops-bench.ts';
import { ownRedis } from '../../support/own-redis.ts';

/** A test of these waits for commands that time out, one after the other. */
const PATIENT = 120_000;
const DEADLINE_MS = 30_000;

describe('while Redis is away', async () => {
  const { server } = await ownRedis({}, afterAll);

  const statusOf = async (caller: Caller, path = '/api/v1/status') => {
    const { status, json } = await caller.get(path);
    return [path, status, json['detail'] ?? json['message']];
  };
  const isBack = (caller: Caller) =>
    until(async () => (await statusOf(caller))[1] === 200, {
      what: 'the API',
      deadlineMs: DEADLINE_MS,
    });

  it(
    'every route says so, in plain words, and serves again when it is back',
    async () => {
      const bench = await startOps(server.url, 'away');
      const operator = await bench.operator();
      expect((await bench.nobody.get('/readyz')).status).toBe(200);
      const metrics = await bench.key('viewer').get('/metrics');
      expect(metrics.headers['content-type']).toMatch(/^text\/plain; version=/);
      expect(metrics.text).toContain('notices_redis_up 1');
      await server.kill('SIGKILL');
      const cause = `Nothing listens at 127.0.0.1:${server.port}: Redis is down, or REDIS_URL names another port.`;
      const noticed = async () => (await statusOf(operator))[2] === cause;
      await until(noticed, { what: 'the cause to be known', deadlineMs: DEADLINE_MS });
      // Operations are tried in their matrix.
      const board = '/queues/api/queues?activeQueue=send';
      expect(await statusOf(operator, board)).toEqual([board, 503, cause]);
      expect((await bench.nobody.get('/livez')).status).toBe(200);
      const ready = await bench.nobody.get('/readyz');
      expect([ready.status, ready.json]).toEqual([
        503,
        { status: 'unready', reasons: ['QUEUE_UNAVAILABLE'] },
      ]);
      const pages = OPS_ROUTES.filter(({ kind, method, needs }) => {
        return kind === 'page' && method === 'GET' && needs === 'viewer';
      });
      for (const route of pages) {
        if (route.path === '/help' || route.path === '/find') continue;
        const page = await operator.get(pathOf(route), { accept: 'text/html' });
        expect([route.path, page.status, page.headers['retry-after']]).toEqual([
          route.path,
          503,
          '2',
        ]);
        for (const words of ['Redis is away', cause, 'data-retry="2"']) {
          expect(page.text).toContain(words);
        }
      }
      // What must not be repeated leads back to the page that it was on.
      const headers = { accept: 'text/html', referer: `${bench.url}/notices?state=unknown` };
      const { 'x-csrf-token': _csrf = '' } = operator.headers;
      const form = new URLSearchParams({ _csrf, why: 'x', _next: '/' }).toString();
      for (const failed of [
        await operator.get('/api/v1/failures.csv', headers),
        await operator.post('/api/v1/hold/place', form, headers),
      ]) {
        expect([failed.status, failed.text.includes('retr')]).toEqual([503, false]);
        expect(failed.text).toContain('href="/notices?state=unknown"');
      }
      const sent = await bench.key('sender').post('/api/v1/notices', {
        notice: { templateCode: 'T', contacts: [{ contact: '01000000001' }] },
      });
      expect(sent).toMatchObject({ status: 503, json: { code: 'QUEUE_UNAVAILABLE' } });
      expect(sent.json['detail']).toContain('nothing was queued');
      const later = await startOps(server.url, 'later');
      await server.restart();
      await isBack(operator);
      await isBack(await later.operator());
      expect((await operator.get('/', { accept: 'text/html' })).status).toBe(200);
    },
    PATIENT,
  );

  it(
    'and when it is frozen, after a bounded time',
    async () => {
      const bench = await startOps(server.url, 'frozen');
      const operator = await bench.operator();
      await isBack(operator);
      await server.kill('SIGSTOP');
      try {
        const words: unknown = expect.stringContaining('does not answer in time');
        const frozen = ['/api/v1/status', '/api/v1/batches', '/api/v1/failures'];
        for (const answer of await Promise.all(frozen.map((path) => statusOf(operator, path)))) {
          expect(answer.slice(1)).toEqual([503, words]);
        }
        expect((await bench.nobody.get('/readyz')).status).toBe(503);
      } finally {
        await server.kill('SIGCONT');
      }
      await isBack(operator);
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
      const events = here.lines.filter(({ event }) => String(event).startsWith('ops-signed-out'));
      expect(events).toMatchObject([{ event: 'ops-signed-out-here-only', level: 40, who: 'vera' }]);
      await server.restart();
    },
    PATIENT,
  );
});

describe('what is likely wrong with Redis', () => {
  const settings = { sentinels: [], connectTimeoutMs: 1 };
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
    watch.failed(error);
    expect(watch.explain()).toContain(words);
    expect(watch.explain()).not.toMatch(/topsecret|secret command|user:/);
  });

  it('is what the connection said, not the command that met it, and is over when it is back', () => {
    const watch = new RedisErrorMonitor({ ...settings, url: 'redis://[::1]' });
    watch.failed(failure('ECONNREFUSED'));
    watch.failed(new Error("Stream isn't writeable"));
    expect(watch.explain()).toContain('Nothing listens at [::1]:6379');
    watch.recovered();
    expect(watch.explain()).toContain('does not answer in time');
  });

  it('names the Sentinels', () => {
    const sentinels = [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
    ];
    const watch = new RedisErrorMonitor({ ...settings, url: 'redis://ignored', sentinels });
    watch.failed(failure('ENOTFOUND'));
    expect(watch.explain()).toContain('a:7000, b:7001');
  });
});

import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import {
  readiness,
  startHealthServer,
  type HealthServer,
} from '../../../workers/health/health-server.ts';
import type { Unready } from '../../../workers/health/readiness.ts';

const AT = { host: '127.0.0.1', port: 0 };

describe('the health server', () => {
  let server: HealthServer | undefined;
  let reasons: readonly Unready[] = [];
  const source = {
    reasons: () => reasons,
    metrics: () => Promise.resolve('# TYPE a gauge\na 1\n'),
  };

  afterEach(() => {
    server?.close();
    server = undefined;
    reasons = [];
  });

  async function get(path: string, init: RequestInit = {}) {
    server ??= await startHealthServer(AT, source);
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      allow: answer.headers.get('allow'),
      text: await answer.text(),
    };
  }

  it('answers that the process is alive, ready or not', async () => {
    reasons = [{ reason: 'Redis is away', since: 0 }];
    expect(await get('/livez')).toMatchObject({ status: 200, text: 'alive\n' });
  });

  it('answers whether it is ready, and why not, as text and as JSON', async () => {
    expect(await get('/readyz')).toMatchObject({ status: 200, text: 'ready\n' });
    reasons = [
      { reason: 'Redis is away', since: 1_000 },
      { reason: 'it is starting', since: 2_000 },
    ];
    expect(await get('/readyz?verbose')).toMatchObject({
      status: 503,
      text:
        'not ready: Redis is away, since 1970-01-01T00:00:01.000Z\n' +
        'not ready: it is starting, since 1970-01-01T00:00:02.000Z\n',
    });
    const json = await get('/readyz', { headers: { accept: 'application/json' } });
    expect([json.status, json.type]).toEqual([503, 'application/json; charset=utf-8']);
    expect(JSON.parse(json.text)).toEqual({ ready: false, reasons });
    expect(JSON.parse(readiness([], true).text)).toEqual({ ready: true, reasons: [] });
  });

  it('answers under no name that another site may have', async () => {
    server = await startHealthServer(AT, source);
    const at = { port: server.port, path: '/metrics', host: '127.0.0.1' };
    const statuses = ['evil.example', 'localhost:1', '[::1]', '127.0.0.1'].map(async (host) => {
      const [answer] = (await once(request({ ...at, headers: { host } }).end(), 'response')) as [
        IncomingMessage,
      ];
      return answer.resume().statusCode;
    });
    expect(await Promise.all(statuses)).toEqual([403, 200, 200, 200]);
  });

  it('answers metrics in the Prometheus text format', async () => {
    expect(await get('/metrics')).toMatchObject({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      text: '# TYPE a gauge\na 1\n',
    });
  });

  it.each([
    ['GET', '/', 404],
    ['GET', '/readyz/x', 404],
    ['POST', '/readyz', 405],
    ['DELETE', '/metrics', 405],
    ['HEAD', '/livez', 200],
  ])('answers %s %s with %d', async (method, path, status) => {
    const answer = await get(path, { method });
    expect(answer.status).toBe(status);
    expect(answer.allow).toBe(status === 405 ? 'GET, HEAD' : null);
    expect(answer.text === '').toBe(method === 'HEAD');
  });

  it('answers 500 without details when the source fails', async () => {
    server = await startHealthServer(AT, {
      ...source,
      metrics: () => Promise.reject(new Error('secret')),
    });
    expect(await get('/metrics')).toMatchObject({ status: 500, text: 'this failed\n' });
  });

  it('fails on a port that is in use, with the reason', async () => {
    server = await startHealthServer(AT, source);
    const { port } = server;
    await expect(startHealthServer({ ...AT, port }, source)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(
        `HEALTH_ADDRESS 127.0.0.1:${port} cannot be listened on (EADDRINUSE)`,
      ) as string,
    });
  });

  it('closes at once, also with an unfinished request', async () => {
    server = await startHealthServer(AT, source);
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write('GET /livez HT');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    server.close();
    server.close();
    await expect(closed).resolves.toBeDefined();
  });
});

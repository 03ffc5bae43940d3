import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { ErrorCode } from '../../src/contracts/errors.ts';
import { ServiceRefusalError } from '../../src/service/response/read-issuance.ts';
import { signal } from '../support/wait.ts';
import { CANARY, openClient } from './support/client.ts';
import { certificate, httpServer, json, tcpAnswers, tlsServer } from './support/servers.ts';

type Answer = (response: ServerResponse) => void;

/** Issues against a server that always gives this answer. */
async function issueFrom(answer: Answer): Promise<unknown> {
  const server = await httpServer(answer);
  return openClient(server.url)
    .issueToken()
    .catch((error: unknown) => error);
}

describe('an issuance (service-api, POST {base_url}/api/v2/token)', () => {
  it('sends the Basic credential and no body, and answers data.token', async () => {
    const server = await httpServer((response) =>
      json(response, 200, { data: { token: 'a.b.c' } }),
    );
    expect(await openClient(server.url).issueToken()).toStrictEqual({ value: 'a.b.c' });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/api/v2/token', body: '' });
    expect(request?.headers).toStrictEqual({
      host: server.url.slice('http://'.length),
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'notice-queue',
      authorization: `Basic ${Buffer.from(`${CANARY.accessKey}:${CANARY.secretKey}`).toString('base64')}`,
      'content-length': '0',
    });
  });

  it('is the same on v1 (service-api, Versioning)', async () => {
    const server = await httpServer((response) =>
      json(response, 200, { data: { token: 'a.b.c' } }),
    );
    const client = openClient(server.url, { apiVersion: 'v1' });
    expect(await client.issueToken()).toStrictEqual({ value: 'a.b.c' });
    expect(server.requests[0]?.path).toBe('/api/v2/token');
  });

  it('tells how long the token lives where the answer shows it', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const issued = await issueFrom((response) =>
      json(response, 201, { data: { token: 'abc', expiresAt } }),
    );
    expect(issued).toMatchObject({ value: 'abc' });
    const { expiresInMs } = issued as { expiresInMs: number };
    expect(expiresInMs).toBeGreaterThan(3_590_000);
    expect(expiresInMs).toBeLessThan(3_602_000);
  });
});

describe('a refused issuance (service-api, Errors)', () => {
  it.each([
    [401, 'INVALID_ACCESS_KEY', /does not exist.*secret is wrong.*ACCESS_KEY/s],
    [403, 'ACCESS_KEY_NOT_APPROVED', /pending approval.*approved in the console/s],
    [403, 'IP_NOT_ALLOWED', /outside the app's IP allowlist.*outbound address/s],
  ] as const)('%i %s has a code of its own with cause and remedy', async (status, code, text) => {
    const error = await issueFrom((response) =>
      json(response, status, { code, message: `no, ${CANARY.secretKey}`, traceId: 'trace-1' }),
    );
    expect(error).toBeInstanceOf(ServiceRefusalError);
    expect(error).toMatchObject({ code, status, serviceCode: code, traceId: 'trace-1' });
    expect((error as Error).message).toMatch(text);
    expect((error as Error).message).toContain('trace-1');
  });

  it.each<[string, Answer, ErrorCode]>([
    ['a bare 401', (response) => response.writeHead(401).end(), 'INVALID_ACCESS_KEY'],
    [
      'a 401 with another code',
      (response) => json(response, 401, { code: 'NOPE' }),
      'INVALID_ACCESS_KEY',
    ],
    ['a bare 403', (response) => response.writeHead(403).end(), 'SERVICE_REFUSED'],
    [
      'a 403 with another code',
      (response) => json(response, 403, { code: 'NOPE' }),
      'SERVICE_REFUSED',
    ],
    [
      'a code under another status',
      (response) => json(response, 403, { code: 'INVALID_ACCESS_KEY' }),
      'INVALID_ACCESS_KEY',
    ],
    ['402', (response) => json(response, 402, { code: 'NO_CREDIT' }), 'SERVICE_REFUSED'],
    ['400', (response) => json(response, 400, {}), 'SERVICE_REFUSED'],
  ])('%s is a refusal', async (_name, answer, code) => {
    const error = await issueFrom(answer);
    expect(error).toBeInstanceOf(ServiceRefusalError);
    expect(error).toMatchObject({ code });
  });

  it('is not tried again', async () => {
    const server = await httpServer((response) => json(response, 401, {}));
    await expect(openClient(server.url).issueToken()).rejects.toThrow(ServiceRefusalError);
    expect(server.requests).toHaveLength(1);
  });
});

describe('an answer without a usable token', () => {
  it.each<[string, Answer]>([
    ['{}', (response) => json(response, 200, {})],
    ['null', (response) => json(response, 200, null)],
    ['data: null', (response) => json(response, 200, { data: null })],
    ['an empty token', (response) => json(response, 200, { data: { token: '' } })],
    ['a token that is a number', (response) => json(response, 200, { data: { token: 5 } })],
    [
      'a token with a line break',
      (response) => json(response, 200, { data: { token: 'a\r\nX-Evil: 1' } }),
    ],
    ['a token with a blank', (response) => json(response, 200, { data: { token: 'a b' } })],
    ['a token that is not ASCII', (response) => json(response, 200, { data: { token: 'tökén' } })],
    [
      'a token of 8,193 characters',
      (response) => json(response, 200, { data: { token: 'x'.repeat(8_193) } }),
    ],
    [
      'a token of 1 MB',
      (response) => json(response, 200, { data: { token: 'x'.repeat(1_000_000) } }),
    ],
    ['a token at the top', (response) => json(response, 200, { token: 'abc' })],
    [
      'a token lent by __proto__',
      (response) => response.writeHead(200).end('{"data":{"__proto__":{"token":"abc"}}}'),
    ],
    ['no body', (response) => response.writeHead(204).end()],
    ['text', (response) => response.writeHead(200).end('OK')],
    [
      'a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    ['gzip', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('xxxx')],
    ['404', (response) => json(response, 404, {})],
    [
      '405 with a page',
      (response) => response.writeHead(405, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      'a redirect',
      (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
  ])('%s: TOKEN_INVALID', async (_name, answer) => {
    const error = await issueFrom(answer);
    expect(error).toBeInstanceOf(NoticeQueueError);
    expect(error).toMatchObject({ code: 'TOKEN_INVALID' });
  });
});

describe('an issuance that fails', () => {
  it('is tried again after 5xx', async () => {
    let calls = 0;
    const server = await httpServer((response) => {
      calls += 1;
      json(response, calls < 3 ? 503 : 200, { data: { token: 'abc' } });
    });
    expect(await openClient(server.url).issueToken()).toStrictEqual({ value: 'abc' });
    expect(server.requests).toHaveLength(3);
  });

  it('with 5xx for ever ends in time', async () => {
    const server = await httpServer((response) => response.writeHead(500).end());
    const before = performance.now();
    const issuing = openClient(server.url, { issueDeadlineMs: 2_000 }).issueToken();
    await expect(issuing).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(performance.now() - before).toBeLessThan(8_000);
    expect(server.requests.length).toBeGreaterThan(1);
    expect(server.requests.length).toBeLessThan(9);
  });

  it('names the status that was seen, also if no connection is made afterwards', async () => {
    const server = await tlsServer(
      'local',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 502 X\r\n\r\n')),
      { resetFrom: 2 },
    );
    const tlsCa = certificate('local').cert;
    const client = openClient(server.url, { tlsCa, issueDeadlineMs: 3_000 });
    await expect(client.issueToken()).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
      message: expect.stringContaining('HTTP 502') as string,
    });
    expect(server.connections()).toBeGreaterThan(1);
  });

  it.each([408, 425, 429])('with %i may do later', async (status) => {
    const error = await issueFrom((response) => response.writeHead(status).end());
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
  });

  it('without an answer ends in time and is not tried again: the service may have issued', async () => {
    let requests = 0;
    const server = await tcpAnswers(() => {
      requests += 1;
    });
    const before = performance.now();
    // The deadline is for the answer: a busy machine needs part of it for the connection.
    const issuing = openClient(server.url, { issueDeadlineMs: 1_500 }).issueToken();
    await expect(issuing).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(performance.now() - before).toBeLessThan(8_000);
    expect(requests).toBe(1);
  });

  it('by a reset after reading is not tried again', async () => {
    let requests = 0;
    const server = await tcpAnswers((socket) => {
      requests += 1;
      socket.resetAndDestroy();
    });
    const issuing = openClient(server.url).issueToken();
    await expect(issuing).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(requests).toBe(1);
  });

  it('by a cut in the answer may do later', async () => {
    const server = await tcpAnswers((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"data":{"token":"ab');
    });
    await expect(openClient(server.url).issueToken()).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
    });
  });

  it('without a connection is tried again, then unreachable', async () => {
    const issuing = openClient('http://127.0.0.1:1', { issueDeadlineMs: 1_500 }).issueToken();
    await expect(issuing).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it('by a certificate that does not verify is unreachable at once', async () => {
    const server = await tlsServer('local', () => undefined);
    const client = openClient(server.url, { connectTimeoutMs: 5_000 });
    await expect(client.issueToken()).rejects.toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') as string,
    });
    expect(server.connections()).toBe(1);
  });

  it('can be given up', async () => {
    const read = signal();
    const server = await tcpAnswers(() => read.resolve());
    const giveUp = new AbortController();
    const issuing = openClient(server.url).issueToken(giveUp.signal);
    const settled = issuing.catch((error: unknown) => error);
    await read.promise;
    giveUp.abort();
    expect(await settled).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    await expect(openClient(server.url).issueToken(AbortSignal.abort())).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
    });
  });
});

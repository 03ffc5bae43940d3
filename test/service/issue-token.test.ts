import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/contracts/errors.ts';
import { ServiceRefusalError } from '../../src/service/response/read-issuance.ts';
import { signal } from '../support/wait.ts';
import { openClient } from './support/client.ts';
import { OK } from './support/send-to.ts';
import { certificate, httpServer, json, tcpAnswers, tlsServer } from './support/servers.ts';

type Answer = (response: ServerResponse) => void;

const token =
  (value: unknown): Answer =>
  (response) =>
    json(response, 200, { data: { token: value } });
const coded =
  (status: number, body: unknown): Answer =>
  (response) =>
    json(response, status, body);
const bare =
  (status: number, headers: Readonly<Record<string, string>> = {}, body = ''): Answer =>
  (response) =>
    response.writeHead(status, headers).end(body);
const PAGE = { 'content-type': 'text/html' };

it.each<[string, Answer, ErrorCode, isRefusal: boolean]>([
  ['a bare 401', bare(401), 'INVALID_ACCESS_KEY', true],
  ['a 401 with another code', coded(401, { code: 'NOPE' }), 'INVALID_ACCESS_KEY', true],
  ['a bare 403', bare(403), 'SERVICE_REFUSED', true],
  ['a 403 with another code', coded(403, { code: 'NOPE' }), 'SERVICE_REFUSED', true],
  ['a code of 401', coded(403, { code: 'INVALID_ACCESS_KEY' }), 'INVALID_ACCESS_KEY', true],
  ['402', coded(402, { code: 'NO_CREDIT' }), 'SERVICE_REFUSED', true],
  ['400', coded(400, {}), 'SERVICE_REFUSED', true],
  ['425', bare(425), 'TOKEN_UNAVAILABLE', false],
  ['429', bare(429), 'TOKEN_UNAVAILABLE', false],
  ['404', coded(404, {}), 'TOKEN_INVALID', false],
  ['405 with a page', bare(405, PAGE, '<html>'), 'TOKEN_INVALID', false],
  ['a redirect', bare(302, { location: 'http://127.0.0.1:1/' }), 'TOKEN_INVALID', false],
  ['{}', coded(200, {}), 'TOKEN_INVALID', false],
  ['a token that is a number', token(5), 'TOKEN_INVALID', false],
  ['a token with a line break', token('a\r\nX-Evil: 1'), 'TOKEN_INVALID', false],
  ['a token of 8,193 characters', token('x'.repeat(8_193)), 'TOKEN_INVALID', false],
  ['a token at the top', coded(200, { token: 'abc' }), 'TOKEN_INVALID', false],
  [
    'a token lent by __proto__',
    bare(200, {}, '{"data":{"__proto__":{"token":"abc"}}}'),
    'TOKEN_INVALID',
    false,
  ],
  ['no body', bare(204), 'TOKEN_INVALID', false],
  ['a page', bare(200, PAGE, '<html>'), 'TOKEN_INVALID', false],
  ['gzip', bare(200, { 'content-encoding': 'gzip' }, 'xxxx'), 'TOKEN_INVALID', false],
])('an issuance with this answer is made once: %s', async (_name, answer, code, isRefusal) => {
  const server = await httpServer(answer);
  const error: unknown = await openClient(server.url)
    .issueToken()
    .catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code });
  expect(error instanceof ServiceRefusalError).toBe(isRefusal);
  expect(server.requests).toHaveLength(1);
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
    const issuing = openClient(server.url, { issueDeadlineMs: 1_000 }).issueToken();
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
    const client = openClient(server.url, { tlsCa, issueDeadlineMs: 1_500 });
    await expect(client.issueToken()).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
      message: expect.stringContaining('HTTP 502') as string,
    });
    expect(server.connections()).toBeGreaterThan(1);
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

  it.each<[string, (socket: Socket) => void]>([
    ['a reset after reading', (socket) => socket.resetAndDestroy()],
    ['a cut in the answer', (socket) => socket.end(`${OK}content-length: 99\r\n\r\n{"data":{"tok`)],
  ])('by %s is not tried again', async (_name, act) => {
    let requests = 0;
    const server = await tcpAnswers((socket) => {
      requests += 1;
      act(socket);
    });
    const issuing = openClient(server.url).issueToken();
    await expect(issuing).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(requests).toBe(1);
  });

  it('without a connection is tried again, then unreachable', async () => {
    const issuing = openClient('http://127.0.0.1:1', { issueDeadlineMs: 400 }).issueToken();
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

import { stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import type { TokenSource } from '../../src/contracts/token.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import type { ServiceConfig } from '../../src/config/config.ts';
import { signal } from '../support/wait.ts';
import { FIRST, NOTICE, openClient, tokensOf } from './support/client.ts';
import { OK, send, sendTo } from './support/send-to.ts';
import {
  certificate,
  httpServer,
  json,
  tcpAnswers,
  tcpServer,
  tlsServer,
} from './support/servers.ts';

const RESET = { failure: 'reset' };
const GARBLED = { failure: 'protocol' };
const unsent = { stage: 'not-sent', requests: 0, body: 'none' };
const inHandshake = (act: (socket: Socket) => void) =>
  tcpServer((socket) => socket.once('data', () => act(socket)), 'https');

describe('provably not sent', () => {
  it.each<[string, () => Promise<{ readonly url: string }>, object, Partial<ServiceConfig>?]>([
    [
      'nothing listens',
      async () => ({ url: `http://127.0.0.1:${await freePort()}` }),
      { failure: 'refused-connection', failureCode: 'ECONNREFUSED' },
    ],
    [
      'unknown name',
      () => Promise.resolve({ url: 'http://no-such-name.invalid' }),
      { failure: 'dns' },
      { connectTimeoutMs: 15_000 },
    ],
    [
      'a certificate that nobody signed',
      () => tlsServer('local', () => undefined),
      { failure: 'certificate', failureCode: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    ],
    [
      'a certificate for another name',
      () => tlsServer('other', () => undefined),
      { failure: 'certificate', failureCode: 'ERR_TLS_CERT_ALTNAME_INVALID' },
      { tlsCa: certificate('other').cert },
    ],
    [
      'plain HTTP on the port of https',
      async () => {
        const { url } = await httpServer((response) => response.end());
        return { url: url.replace('http:', 'https:') };
      },
      { failure: 'tls' },
    ],
    ['reset in the TLS handshake', () => inHandshake((socket) => socket.resetAndDestroy()), RESET],
    ['closed in the TLS handshake', () => inHandshake((socket) => socket.end()), RESET],
    [
      'silence in the TLS handshake, until the connect timeout',
      () => tcpServer(() => undefined, 'https'),
      { failure: 'timeout', failureCode: 'UND_ERR_CONNECT_TIMEOUT' },
      { connectTimeoutMs: 200 },
    ],
  ])('%s', async (_name, serve, failed, overrides) => {
    const { url } = await serve();
    expect(await send(url, overrides, 20_000)).toMatchObject({ ...unsent, ...failed });
  });

  it('a certificate that does not verify is not tried again', async () => {
    const server = await tlsServer('local', () => undefined);
    const answer = await send(server.url, { notSentRetries: 3 });
    expect(decideOutcome(answer)).toMatchObject({ kind: 'hold', hold: 'address' });
    expect(server.connections()).toBe(1);
  });

  it('NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const server = await tlsServer('local', () => undefined);
    expect(await send(server.url)).toMatchObject({ ...unsent, failure: 'certificate' });
  });

  it('what waited too long is dropped, and the connection serves on', async () => {
    const gate = signal();
    const server = await httpServer(
      (response) => void gate.promise.then(() => json(response, 200, {})),
    );
    const client = openClient(server.url, { connections: 1 });
    const first = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    const second = client.send(NOTICE, tokensOf(), { deadlineMs: 200 });
    const third = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    expect(await second).toMatchObject({ ...unsent, failure: 'timeout', failureCode: 'DEADLINE' });
    gate.resolve();
    expect(await Promise.all([first, third])).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(server.requests).toHaveLength(2);
    expect(server.connections()).toBe(1);
  });

  it('a deadline that passed in a busy event loop, before its timer could fire', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { connections: 1 });
    await client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    const busy: TokenSource = {
      ...tokensOf(),
      get: () => {
        const end = performance.now() + 60;
        while (performance.now() < end);
        return Promise.resolve(FIRST);
      },
    };
    // From here on the loop runs immediates before timers, and undici starts requests in one.
    await stat('.');
    const late = await client.send(NOTICE, busy, { deadlineMs: 30 });
    expect(late).toMatchObject({ ...unsent, failure: 'aborted', failureCode: 'DEADLINE' });
    expect(server.requests).toHaveLength(1);
  });

  it('the client is closed while a connection is being made in place of a failed one', async () => {
    const second = signal();
    let accepted = 0;
    const server = await tcpServer((socket) => {
      accepted += 1;
      if (accepted === 1) socket.once('data', () => socket.resetAndDestroy());
      else second.resolve();
    }, 'https');
    const client = openClient(server.url, { connections: 1, connectTimeoutMs: 6_000 });
    const sends = [1, 2].map(() => client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 }));
    await second.promise;
    await client.close();
    const [first, waiting] = await Promise.all(sends);
    expect(first).toMatchObject({ ...unsent, failure: 'reset' });
    expect(waiting).toMatchObject({ ...unsent, failure: 'aborted' });
    expect(waiting?.durationMs).toBeLessThan(5_500);
  });
});

const started = { stage: 'sent', requests: 1, body: 'none' };

describe('it may have been taken', () => {
  it.each<[string, string | undefined, object]>([
    ['reset after reading', undefined, RESET],
    ['closed after reading', '', RESET],
    ['half a status line', 'HTTP/1.1 20', {}],
    ['half the headers', OK, RESET],
    ['garbage', 'no HTTP at all\r\n\r\n', GARBLED],
    ['two lengths', `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`, GARBLED],
    ['headers of 64 kB', `${OK}x: ${'a'.repeat(65_536)}\r\n\r\n`, GARBLED],
    ['103 and nothing more', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n', RESET],
    ['an upgrade', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', RESET],
  ])('%s', async (_name, text, more) => {
    const act = (socket: Socket) =>
      text === undefined ? void socket.resetAndDestroy() : void socket.end(text);
    const answer = await sendTo(act, { notSentRetries: 3 });
    expect(answer).toMatchObject({ ...started, ...more });
    expect(decideOutcome(answer).kind).toBe('unknown');
  });

  it('no answer, until the answer timeout', async () => {
    const answer = await sendTo(() => undefined, { answerTimeoutMs: 200 });
    expect(answer).toMatchObject({
      ...started,
      failure: 'timeout',
      failureCode: 'UND_ERR_HEADERS_TIMEOUT',
    });
  });

  it('no answer, until the deadline; then the connection goes', async () => {
    const closed = signal();
    const answer = await sendTo(
      (socket) => socket.on('close', () => closed.resolve()),
      { answerTimeoutMs: 60_000 },
      300,
    );
    await closed.promise;
    expect(answer).toMatchObject({ ...started, failure: 'timeout', failureCode: 'DEADLINE' });
    expect(answer.durationMs).toBeLessThan(20_000);
  });

  it('the client is closed while waiting for the answer', async () => {
    const read = signal();
    const server = await tcpAnswers(() => read.resolve());
    const client = openClient(server.url);
    const answer = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    await read.promise;
    await client.close();
    expect(await answer).toMatchObject({ ...started, failure: 'aborted' });
    const late = await client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    expect(late).toMatchObject({ ...unsent, failure: 'aborted' });
  });
});

describe('what provably never left', () => {
  it('is tried as often as configured, with the same token', async () => {
    const server = await tcpServer(
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      'https',
    );
    const tokens = tokensOf();
    const client = openClient(server.url, { notSentRetries: 2 });
    const answer = await client.send(NOTICE, tokens, { deadlineMs: 8_000 });
    expect(answer).toMatchObject(unsent);
    expect(server.connections()).toBe(3);
    expect(tokens.renewals).toHaveLength(0);
  });
});

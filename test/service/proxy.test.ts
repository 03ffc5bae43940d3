import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { CANARY, NOTICE, openClient, tokensOf } from './support/client.ts';
import { proxyServer } from './support/proxy.ts';
import { certificate, httpServer, json, tlsServer } from './support/servers.ts';
import type { CertificateName, TlsBehaviour } from './support/servers.ts';

const WITHIN = { deadlineMs: 3_000 };
const EMPTY = '\r\ncontent-length: 0\r\n\r\n';

describe('a configured proxy', () => {
  it('tunnels http', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const proxy = await proxyServer();
    const client = openClient(server.url, { proxyUrl: proxy.url });
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
      status: 200,
      requests: 1,
    });
    expect(proxy.heads).toHaveLength(1);
    expect(proxy.heads[0]).toMatch(/^CONNECT /);
    expect(proxy.heads[0]).not.toContain(CANARY.token);
  });

  it('tunnels https, whose certificate is checked at the far end', async () => {
    const server = await tlsServer('local', (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
    });
    const proxy = await proxyServer();
    const trusting = openClient(server.url, {
      proxyUrl: proxy.url,
      tlsCa: certificate('local').cert,
    });
    expect(await trusting.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({ status: 200 });
    const doubting = openClient(server.url, { proxyUrl: proxy.url });
    expect(await doubting.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
      stage: 'not-sent',
      failure: 'certificate',
    });
  });

  describe('over https', () => {
    /** A proxy that accepts no tunnel, and what was asked of it. */
    async function secureProxy(name: CertificateName, behaviour?: TlsBehaviour) {
      const heads: string[] = [];
      const onSecure = (socket: Socket) => {
        socket.once('data', (part: Buffer) => {
          heads.push(part.toString('latin1'));
          socket.end(`HTTP/1.1 407 No${EMPTY}`);
        });
      };
      const { port } = await tlsServer(name, onSecure, behaviour);
      return { url: `https://localhost:${port}`, heads };
    }

    it('is asked for a tunnel where its certificate is good', async () => {
      const proxy = await secureProxy('local');
      const { cert: tlsCa } = certificate('local');
      const client = openClient('https://127.0.0.1:9', { proxyUrl: proxy.url, tlsCa });
      const answer = await client.send(NOTICE, tokensOf(), WITHIN);
      expect(answer).toMatchObject({ stage: 'not-sent', requests: 0 });
      expect(answer.failure).not.toBe('certificate');
      expect(proxy.heads).toEqual([expect.stringMatching(/^CONNECT 127\.0\.0\.1:9 /)]);
    });

    it.each<[string, CertificateName, string | undefined]>([
      ['that no authority signed', 'local', undefined],
      ['of another name', 'other', certificate('other').cert],
    ])(
      'with a certificate %s: a failure of the certificate, not sent',
      async (_name, shown, ca) => {
        const proxy = await secureProxy(shown);
        const trusted = ca === undefined ? {} : { tlsCa: ca };
        const client = openClient('https://127.0.0.1:9', { proxyUrl: proxy.url, ...trusted });
        expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
          stage: 'not-sent',
          failure: 'certificate',
          requests: 0,
        });
        expect(proxy.heads).toEqual([]);
      },
    );
  });

  it.each<[string, (socket: Socket) => void]>([
    ['hangs up', (socket) => socket.destroy()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['asks for credentials', (socket) => socket.end(`HTTP/1.1 407 No${EMPTY}`)],
    ['cannot reach the service', (socket) => socket.end(`HTTP/1.1 502 No${EMPTY}`)],
    ['says nothing', () => undefined],
  ])('that %s: provably not sent, and it is not called in a loop', async (_name, act) => {
    const proxy = await proxyServer(act);
    const client = openClient('http://127.0.0.1:9', { proxyUrl: proxy.url });
    const answer = await client.send(NOTICE, tokensOf(), WITHIN);
    expect(answer).toMatchObject({ stage: 'not-sent', requests: 0 });
    expect(answer.durationMs).toBeLessThan(2_500);
    expect(proxy.connections()).toBe(1);
  });

  it('that nobody runs: provably not sent', async () => {
    const client = openClient('http://127.0.0.1:9', { proxyUrl: 'http://127.0.0.1:1' });
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
      stage: 'not-sent',
      failure: 'refused-connection',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { httpServer, json, tcpServer } from './support/servers.ts';

const WITHIN = { deadlineMs: 10_000 };
const OWN = { ...WITHIN, ownConnection: true };

describe('a call that wants a connection of its own', () => {
  it('gets a new one for each request, and leaves the kept ones alone', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { connections: 1 });
    await client.send(NOTICE, tokensOf(), WITHIN);
    await client.send(NOTICE, tokensOf(), WITHIN);
    expect(server.connections()).toBe(1);
    for (let call = 1; call <= 3; call += 1) {
      expect(await client.send(NOTICE, tokensOf(), OWN)).toMatchObject({ status: 200 });
      expect(server.connections()).toBe(1 + call);
    }
    expect(server.requests.map(({ headers }) => headers.connection)).toEqual([
      'keep-alive',
      'keep-alive',
      'close',
      'close',
      'close',
    ]);
    await client.send(NOTICE, tokensOf(), WITHIN);
    expect(server.connections()).toBe(4);
  });

  it('gets another for the request after a renewed token', async () => {
    const server = await httpServer((response) =>
      json(response, server.requests.length === 1 ? 401 : 200, {}),
    );
    const answer = await openClient(server.url).send(NOTICE, tokensOf(), OWN);
    expect(answer).toMatchObject({ status: 200, requests: 2 });
    expect(server.connections()).toBe(2);
  });

  it('never meets a connection that died in silence', async () => {
    // Answers one request on each connection and resets at the second: a kept one is stale.
    const server = await tcpServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => socket.resetAndDestroy());
      });
    });
    const client = openClient(server.url, { connections: 1 });
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({ status: 200 });
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
      stage: 'sent',
      failure: 'reset',
    });
    for (let call = 0; call < 2; call += 1) {
      expect(await client.send(NOTICE, tokensOf(), OWN)).toMatchObject({ status: 200 });
    }
  });

  it('waits for its turn where all connections are busy', async () => {
    let most = 0;
    let now = 0;
    const server = await httpServer((response) => {
      now += 1;
      most = Math.max(most, now);
      setImmediate(() => {
        now -= 1;
        json(response, 200, {});
      });
    });
    const client = openClient(server.url, { connections: 2 });
    const calls = Array.from({ length: 10 }, () => client.send(NOTICE, tokensOf(), OWN));
    for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
    expect(server.connections()).toBe(10);
    expect(most).toBeLessThanOrEqual(2);
  });
});

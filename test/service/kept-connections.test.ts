import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { signal } from '../support/wait.ts';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { proxyServer } from './support/proxy.ts';
import { tcpAnswers } from './support/servers.ts';

const KEPT = 4;
const accept = (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
const reset = (socket: Socket) => void socket.resetAndDestroy();

describe.each([
  ['direct', false],
  ['through a proxy', true],
])('connections that are %s', (_, isProxied) => {
  /** A client that has {@link KEPT} idle connections, and what its server does with their next requests. */
  async function idleConnections(next: (socket: Socket, isKept: boolean) => void) {
    const kept: Socket[] = [];
    const server = await tcpAnswers((socket) => {
      if (kept.length === KEPT) return next(socket, kept.includes(socket));
      if (kept.push(socket) === KEPT) kept.forEach(accept);
    });
    const client = openClient(server.url, {
      connections: KEPT,
      ...(isProxied ? { proxyUrl: (await proxyServer()).url } : undefined),
    });
    const send = () => client.send(NOTICE, tokensOf(), { deadlineMs: 10_000 });
    await Promise.all(Array.from({ length: KEPT }, send));
    expect(server.connections()).toBe(KEPT);
    return { server, client, send, kept };
  }

  it('none of the idle connections is used once one of them was reset under a request', async () => {
    const { send, kept } = await idleConnections((socket, isKept) =>
      (isKept ? reset : accept)(socket),
    );
    const areClosed = Promise.all(kept.map((socket) => once(socket, 'close')));
    expect(await send()).toMatchObject({ stage: 'sent', failure: 'reset' });
    const later = await Promise.all(Array.from({ length: KEPT }, send));
    expect(later.map(({ status }) => status)).toEqual(later.map(() => 200));
    await areClosed;
  });

  it('a request in progress on another connection ends as it would have', async () => {
    const arrived = signal<Socket>();
    let requests = 0;
    const { send } = await idleConnections((socket) =>
      ++requests === 1 ? arrived.resolve(socket) : reset(socket),
    );
    const inProgress = send();
    const socket = await arrived.promise;
    expect(await send()).toMatchObject({ failure: 'reset' });
    accept(socket);
    expect(await inProgress).toMatchObject({ status: 200 });
  });

  it('the reset of an older connection leaves those opened since alone', async () => {
    const arrived = signal<Socket>();
    let requests = 0;
    const { send, server } = await idleConnections((socket, isKept) => {
      if (++requests === 1) arrived.resolve(socket);
      else (isKept ? reset : accept)(socket);
    });
    const inProgress = send();
    const socket = await arrived.promise;
    expect(await send()).toMatchObject({ failure: 'reset' });
    expect(await send()).toMatchObject({ status: 200 });
    reset(socket);
    expect(await inProgress).toMatchObject({ failure: 'reset' });
    expect(await send()).toMatchObject({ status: 200 });
    expect(server.connections()).toBe(KEPT + 1);
  });

  it('closing the client also closes older connections with a request in progress', async () => {
    const arrived = signal<Socket>();
    let requests = 0;
    const { send, client } = await idleConnections((socket) =>
      ++requests === 1 ? arrived.resolve(socket) : reset(socket),
    );
    const inProgress = send();
    const socket = await arrived.promise;
    expect(await send()).toMatchObject({ failure: 'reset' });
    const isClosed = once(socket, 'close');
    await client.close();
    expect(await inProgress).toMatchObject({ failure: 'aborted' });
    await isClosed;
  });
});

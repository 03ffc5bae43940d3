import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { signal, until } from '../support/wait.ts';
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
    const send = (deadlineMs = 10_000) => client.send(NOTICE, tokensOf(), { deadlineMs });
    const sendAtOnce = () => Promise.all(Array.from({ length: KEPT }, () => send()));
    await sendAtOnce();
    expect(server.connections()).toBe(KEPT);
    return { server, client, send, sendAtOnce, kept };
  }

  it('none of the idle connections is used once one of them was reset under a request', async () => {
    const { send, sendAtOnce, kept } = await idleConnections((socket, isKept) =>
      (isKept ? reset : accept)(socket),
    );
    let closed = 0;
    for (const socket of kept) socket.once('close', () => closed++);
    expect(await send()).toMatchObject({ stage: 'sent', failure: 'reset' });
    // Sooner than idle connections are closed anyway.
    await until(() => closed === KEPT, {
      what: 'the idle connections to close',
      deadlineMs: 1_000,
    });
    const later = await sendAtOnce();
    expect(later.map(({ status }) => status)).toEqual(later.map(() => 200));
  });

  it('a request that gets no answer in time leaves the others alone', async () => {
    let requests = 0;
    const { send, sendAtOnce, server } = await idleConnections((socket) => {
      if (++requests > 1) accept(socket);
    });
    expect(await send(300)).toMatchObject({ stage: 'sent', failure: 'timeout' });
    await sendAtOnce();
    expect(server.connections()).toBe(KEPT + 1);
  });

  it('none is used for longer than a minute: an address may have changed', async () => {
    const { sendAtOnce, server } = await idleConnections(accept);
    const now = performance.now.bind(performance);
    let ahead = 59_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    await sendAtOnce();
    expect(server.connections()).toBe(KEPT);
    ahead = 61_000;
    await sendAtOnce();
    clock.mockRestore();
    expect(server.connections()).toBe(2 * KEPT);
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

/** A client with a request in progress through a proxy, which does `act` with all but the first connection. */
async function oneInProgress(act: (client: Socket) => void) {
  const arrived = signal<Socket>();
  const server = await tcpAnswers((socket) =>
    arrived.settled ? accept(socket) : arrived.resolve(socket),
  );
  const client = openClient(server.url, {
    connections: 2,
    connectTimeoutMs: 120_000,
    proxyUrl: (await proxyServer(act, 2)).url,
  });
  const send = () => client.send(NOTICE, tokensOf(), { deadlineMs: 15_000 });
  const first = send();
  return { server, client, send, first, inProgress: await arrived.promise };
}

it('a connection that is reset before a request leaves the others alone', async () => {
  const { send, first, inProgress, server } = await oneInProgress((socket) => socket.destroy());
  expect(await send()).toMatchObject({ stage: 'not-sent', failure: 'reset' });
  accept(inProgress);
  expect(await first).toMatchObject({ status: 200 });
  // Right after an answer a connection is not idle yet.
  await until(async () => (await send()).status === 200, { what: 'a send on the first one' });
  expect(server.connections()).toBe(1);
});

it('closing the client also closes connections that replaced ones were opening', async () => {
  const opening = signal<Socket>();
  const { send, first, inProgress, client } = await oneInProgress((socket) =>
    opening.resolve(socket),
  );
  const second = send();
  const isClosed = once(await opening.promise, 'close');
  reset(inProgress);
  expect(await first).toMatchObject({ failure: 'reset' });
  await client.close();
  expect(await second).toMatchObject({ stage: 'not-sent', failure: 'aborted' });
  await isClosed;
});

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
import { FaultyLink } from './faulty-link.ts';
import { until } from './wait.ts';

/** A server that answers every byte by the same byte, and remembers what it read. */
describe('the fault proxy', () => {
  let server: Server;
  let proxy: FaultProxy;
  let read = '';
  const sockets = new Set<Socket>();

  beforeEach(async () => {
    read = '';
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (bytes: Buffer) => {
        read += bytes.toString();
        socket.write(bytes);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await startFaultProxy((server.address() as AddressInfo).port);
  });

  afterEach(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server.close();
  });

  interface Caller {
    readonly socket: Socket;
    readonly seen: { text: string; ended: boolean; error: string };
    asks(text: string): Promise<string>;
  }

  async function call(): Promise<Caller> {
    const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.add(socket);
    const seen = { text: '', ended: false, error: '' };
    socket.on('data', (bytes: Buffer) => {
      seen.text += bytes.toString();
    });
    socket.on('end', () => {
      seen.ended = true;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      seen.error = error.code ?? '';
    });
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
    return {
      socket,
      seen,
      asks: async (text) => {
        const before = seen.text.length;
        socket.write(text);
        await until(() => seen.text.length >= before + text.length, { what: 'the answer' });
        return seen.text.slice(before);
      },
    };
  }

  const reset = ({ seen }: Caller) =>
    until(() => seen.error === 'ECONNRESET', { what: 'the reset' });

  it('hands everything on while it is whole', async () => {
    const caller = await call();
    expect(await caller.asks('hello')).toBe('hello');
    expect(proxy.struck).toBe(0);
    expect(proxy.connections).toBe(1);
    const long = 'x'.repeat(3_000_000);
    expect(await caller.asks(long)).toBe(long);
    caller.socket.end();
    await until(() => proxy.connections === 0, { what: 'the link to close' });
  });

  it('refuses new connections, leaves the old ones, and listens again on the same port', async () => {
    const old = await call();
    await proxy.place({ kind: 'refuse' });
    expect((await call()).seen.error).toBe('ECONNREFUSED');
    expect(await old.asks('still')).toBe('still');
    await proxy.heal();
    expect(await (await call()).asks('back')).toBe('back');
  });

  it('swallows in both directions like a black hole, and resets what it swallowed from', async () => {
    const old = await call();
    expect(await old.asks('a')).toBe('a');
    await proxy.place({ kind: 'black-hole' });
    old.socket.write('b');
    const fresh = await call();
    fresh.socket.write('c');
    await until(() => proxy.struck === 2, { what: 'both to be swallowed' });
    expect(read).toBe('a');
    await proxy.heal();
    await reset(old);
    await reset(fresh);
    expect(await (await call()).asks('d')).toBe('d');
  });

  it('forgets the connections of a black hole where that is asked for', async () => {
    const old = await call();
    await proxy.place({ kind: 'black-hole', after: 'dead' });
    old.socket.write('a');
    await until(() => proxy.struck === 1, { what: 'the byte to be swallowed' });
    await proxy.heal();
    old.socket.write('b');
    expect(await (await call()).asks('c')).toBe('c');
    expect(read).toBe('c');
    expect(old.seen).toEqual({ text: '', ended: false, error: '' });
  });

  it.each(['up', 'down'] as const)('cuts after so many bytes %s', async (direction) => {
    const caller = await call();
    expect(await caller.asks('12345678')).toBe('12345678');
    await proxy.place({ kind: 'cut', direction, bytes: 3, by: 'end', times: 1 });
    caller.socket.write('abcdef');
    await until(() => caller.seen.ended, { what: 'the end' });
    expect(direction === 'up' ? read : caller.seen.text).toBe('12345678abc');
    // One connection was asked for, and was struck.
    expect(await (await call()).asks('uvwxyz')).toBe('uvwxyz');
    expect(proxy.struck).toBe(1);
  });

  it('cuts where a text goes up, and lets everything else pass', async () => {
    await proxy.place({ kind: 'cut', direction: 'up', when: 'EVAL', bytes: 2, by: 'end' });
    const [asker, other] = [await call(), await call()];
    asker.socket.write('PING EVAL 1234');
    await until(() => asker.seen.ended, { what: 'the end' });
    expect(read).toBe('PING EVAL 1');
    expect(await other.asks('PING and much more')).toBe('PING and much more');
    expect(proxy.struck).toBe(1);
  });

  it('cuts by a reset unless told otherwise', async () => {
    await proxy.place({ kind: 'cut', direction: 'up', bytes: 0 });
    const caller = await call();
    caller.socket.write('a');
    await reset(caller);
    expect(read).toBe('');
  });

  it('makes the connections that stand stale, and no others', async () => {
    const old = await call();
    expect(await old.asks('a')).toBe('a');
    await proxy.place({ kind: 'stale', by: 'reset' });
    expect(await (await call()).asks('b')).toBe('b');
    old.socket.write('c');
    await reset(old);
    expect(read).toBe('ab');
  });

  it('tells a stale connection that was kept from one that was just opened', async () => {
    const kept = await call();
    expect(await kept.asks('a')).toBe('a');
    const fresh = await call();
    await until(() => proxy.connections === 2, { what: 'both connections' });
    await proxy.place({ kind: 'stale', by: 'reset' });
    fresh.socket.write('b');
    await reset(fresh);
    expect([proxy.struck, proxy.struckKept]).toEqual([1, 0]);
    kept.socket.write('c');
    await reset(kept);
    expect([proxy.struck, proxy.struckKept]).toEqual([2, 1]);
  });

  it('lets stale connections swallow in silence, also when it is whole again', async () => {
    const old = await call();
    expect(await old.asks('a')).toBe('a');
    await proxy.place({ kind: 'stale', by: 'silence' });
    await proxy.heal();
    old.socket.write('b');
    await until(() => proxy.struck === 1, { what: 'the byte to be swallowed' });
    expect(await (await call()).asks('c')).toBe('c');
    expect(read).toBe('ac');
    expect(old.seen).toEqual({ text: 'a', ended: false, error: '' });
  });

  it('closes downwards and still hands on what comes up', async () => {
    await proxy.place({ kind: 'half-close', times: 1 });
    const caller = await call();
    caller.socket.write('a');
    await until(() => caller.seen.ended, { what: 'the half to close' });
    caller.socket.write('b');
    await until(() => read === 'ab', { what: 'the bytes to arrive' });
    expect(caller.seen.text).toBe('');
    expect(await (await call()).asks('c')).toBe('c');
  });

  it('delays, and keeps the order', async () => {
    await proxy.place({ kind: 'delay', ms: 60 });
    const caller = await call();
    const began = performance.now();
    caller.socket.write('a');
    expect(await caller.asks('b')).toContain('a');
    // Once up and once down, less what a timer may come early.
    expect(performance.now() - began).toBeGreaterThan(110);
    expect(proxy.struck).toBeGreaterThanOrEqual(2);
    await proxy.heal();
    await until(() => caller.seen.text === 'ab', { what: 'both, in order' });
  });

  it('drops exactly one reply', async () => {
    const [first, second] = [await call(), await call()];
    await proxy.place({ kind: 'drop-reply', times: 1 });
    first.socket.write('a');
    await reset(first);
    expect(read).toBe('a');
    expect(first.seen.text).toBe('');
    expect(await second.asks('b')).toBe('b');
  });

  it('drops the reply to what holds a text', async () => {
    await proxy.place({ kind: 'drop-reply', when: 'EVAL', times: 2 });
    const caller = await call();
    expect(await caller.asks('PING')).toBe('PING');
    caller.socket.write('EVAL');
    await reset(caller);
    expect(read).toBe('PINGEVAL');
    expect(caller.seen.text).toBe('PING');
    expect(proxy.struck).toBe(1);
  });

  it('resets all, and leads new connections to another port', async () => {
    const caller = await call();
    expect(await caller.asks('a')).toBe('a');
    const other = createServer((socket) => {
      // The end of the test resets it.
      socket.on('error', () => {});
      socket.end('other');
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    proxy.retarget((other.address() as AddressInfo).port);
    proxy.resetAll();
    await reset(caller);
    const next = await call();
    await until(() => next.seen.text === 'other', { what: 'the other server' });
    other.close();
  });

  it('is closed also where a reset meets a connection that is just being ended', async () => {
    let isClosed = false;
    const accepting = createServer({ allowHalfOpen: true }, (client) => {
      const link = new FaultyLink(client, {
        target: (server.address() as AddressInfo).port,
        fault: { kind: 'half-close' },
        epoch: 0,
        struck: 0,
        struckKept: 0,
        left: 1,
        bytes: 0,
      });
      void link.closed.then(() => (isClosed = true));
      // Before the event loop goes on, which sends the end.
      client.once('data', () => queueMicrotask(() => link.reset()));
    });
    accepting.listen(0, '127.0.0.1');
    await once(accepting, 'listening');
    const socket = connect((accepting.address() as AddressInfo).port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => {});
    socket.write('a');
    await until(() => isClosed, { what: 'the end of the connection', deadlineMs: 5_000 });
    accepting.close();
    expect(isClosed).toBe(true);
  });
});

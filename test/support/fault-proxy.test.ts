import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';
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
});

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import type { LinkFault } from './faulty-link.ts';
import { until } from './wait.ts';

/** A proxy before a server that answers every byte by the same byte, and remembers what it read. */
async function open() {
  const seen = { read: '' };
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      seen.read += bytes.toString();
      socket.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startFaultProxy((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    await proxy.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const call = async () => {
    const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    const caller = {
      socket,
      text: '',
      ended: false,
      error: '',
      asks: async (text: string) => {
        const before = caller.text.length;
        socket.write(text);
        await until(() => caller.text.length >= before + text.length, { what: 'the answer' });
        return caller.text.slice(before);
      },
      isReset: () => until(() => caller.error === 'ECONNRESET', { what: 'the reset' }),
      isEnded: () => until(() => caller.ended, { what: 'the end' }),
    };
    socket.on('data', (bytes: Buffer) => (caller.text += bytes.toString()));
    socket.on('end', () => (caller.ended = true));
    socket.on('error', (error: NodeJS.ErrnoException) => (caller.error = error.code ?? ''));
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
    return caller;
  };
  return { proxy, seen, call, place: (fault: LinkFault) => proxy.place(fault) };
}

it('hands everything on while it is whole', async () => {
  const { proxy, call } = await open();
  const caller = await call();
  expect(await caller.asks('hello')).toBe('hello');
  expect([proxy.struck, proxy.connections]).toEqual([0, 1]);
  const long = 'x'.repeat(3_000_000);
  expect(await caller.asks(long)).toBe(long);
  caller.socket.end();
  await until(() => proxy.connections === 0, { what: 'the link to close' });
});

it('refuses new connections, leaves the old ones, and listens again on the same port', async () => {
  const { proxy, call, place } = await open();
  const old = await call();
  await place({ kind: 'refuse' });
  expect((await call()).error).toBe('ECONNREFUSED');
  expect(await old.asks('still')).toBe('still');
  await proxy.heal();
  expect(await (await call()).asks('back')).toBe('back');
});

it('swallows in both directions like a black hole, and resets what it swallowed from', async () => {
  const { proxy, seen, call, place } = await open();
  const old = await call();
  expect(await old.asks('a')).toBe('a');
  await place({ kind: 'black-hole' });
  old.socket.write('b');
  const fresh = await call();
  fresh.socket.write('c');
  await until(() => proxy.struck === 2, { what: 'both to be swallowed' });
  expect(seen.read).toBe('a');
  await proxy.heal();
  await old.isReset();
  await fresh.isReset();
  expect(await (await call()).asks('d')).toBe('d');
});

it.each(['up', 'down'] as const)('cuts after so many bytes %s', async (direction) => {
  const { proxy, seen, call, place } = await open();
  const caller = await call();
  expect(await caller.asks('12345678')).toBe('12345678');
  await place({ kind: 'cut', direction, bytes: 3, by: 'end', times: 1 });
  caller.socket.write('abcdef');
  await caller.isEnded();
  expect(direction === 'up' ? seen.read : caller.text).toBe('12345678abc');
  // One connection was asked for, and was struck.
  expect(await (await call()).asks('uvwxyz')).toBe('uvwxyz');
  expect(proxy.struck).toBe(1);
});

it('cuts where a text goes up, and lets everything else pass', async () => {
  const { proxy, seen, call, place } = await open();
  await place({ kind: 'cut', direction: 'up', when: 'EVAL', bytes: 2, by: 'end' });
  const [asker, other] = [await call(), await call()];
  asker.socket.write('PING EVAL 1234');
  await asker.isEnded();
  expect(seen.read).toBe('PING EVAL 1');
  expect(await other.asks('PING and much more')).toBe('PING and much more');
  expect(proxy.struck).toBe(1);
});

it('tells a stale connection that was kept from one that was just opened', async () => {
  const { proxy, call, place } = await open();
  const kept = await call();
  expect(await kept.asks('a')).toBe('a');
  const fresh = await call();
  await until(() => proxy.connections === 2, { what: 'both connections' });
  await place({ kind: 'stale', by: 'reset' });
  fresh.socket.write('b');
  await fresh.isReset();
  expect([proxy.struck, proxy.struckKept]).toEqual([1, 0]);
  kept.socket.write('c');
  await kept.isReset();
  expect([proxy.struck, proxy.struckKept]).toEqual([2, 1]);
});

it('closes downwards and still hands on what comes up', async () => {
  const { seen, call, place } = await open();
  await place({ kind: 'half-close', times: 1 });
  const caller = await call();
  caller.socket.write('a');
  await caller.isEnded();
  caller.socket.write('b');
  await until(() => seen.read === 'ab', { what: 'the bytes to arrive' });
  expect(caller.text).toBe('');
  expect(await (await call()).asks('c')).toBe('c');
});

it('drops the reply to what holds a text', async () => {
  const { proxy, seen, call, place } = await open();
  await place({ kind: 'drop-reply', when: 'EVAL', times: 2 });
  const caller = await call();
  expect(await caller.asks('PING')).toBe('PING');
  caller.socket.write('EVAL');
  await caller.isReset();
  expect([seen.read, caller.text, proxy.struck]).toEqual(['PINGEVAL', 'PING', 1]);
});

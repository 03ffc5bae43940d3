import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The answer to TIME: seconds and microseconds, as bulk strings. */
const TIME_ANSWER = /(\*2\r\n\$10\r\n)(\d{10})(\r\n\$\d\r\n\d{1,6}\r\n)/g;

/**
 * Stands before a Redis whose clock is off: all passes through as it is, but the seconds of TIME.
 *
 * @returns its address; it is closed when the test ends
 */
export async function clockProxy(redisUrl: string, aheadS: number): Promise<string> {
  const { hostname, port } = new URL(redisUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname);
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        redis.destroy();
      });
    }
    client.pipe(redis);
    redis.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      const shifted = text.replace(
        TIME_ANSWER,
        (_, head: string, seconds: string, rest: string) =>
          `${head}${Number(seconds) + aheadS}${rest}`,
      );
      client.write(Buffer.from(shifted, 'latin1'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The answer to TIME: seconds and microseconds, as bulk strings. */
const TIME_ANSWER = /(\*2\r\n\$10\r\n)(\d{10})(\r\n\$\d\r\n\d{1,6}\r\n)/g;

/**
 * Stands before a Redis whose clock is off: all passes through as it is, but the seconds of TIME.
 *
 * @returns its address; it is closed when the test ends
 */
export const clockProxy = (redisUrl: string, aheadS: number): Promise<string> =>
  redisProxy(redisUrl, (client, redis) => {
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

/** Redis answers it with an ERR that says nothing of the command that it takes the place of. */
const REFUSED = '*2\r\n$6\r\nSELECT\r\n$6\r\n999999\r\n';

/** Stands before a Redis like a gateway with a quota: while it is spent, each command gets an ERR and is not executed. */
export const quotaProxy = (redisUrl: string, isSpent: () => boolean): Promise<string> =>
  redisProxy(redisUrl, (client, redis) => {
    redis.pipe(client);
    let bytes = Buffer.alloc(0);
    client.on('data', (more) => {
      bytes = Buffer.concat([bytes, more]);
      for (let end = endOfCommand(bytes); end > 0; end = endOfCommand(bytes)) {
        redis.write(isSpent() ? REFUSED : bytes.subarray(0, end));
        bytes = bytes.subarray(end);
      }
    });
  });

/** Where the first command ends, a list of bulk strings; 0 where the rest of it is still to come. */
function endOfCommand(bytes: Buffer): number {
  let at = bytes.indexOf('\r\n') + 2;
  for (let parts = Number(bytes.subarray(1, at)); parts > 0 && at > 1; parts--) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return 0;
    at = line + 4 + Number(bytes.subarray(at + 1, line));
  }
  return at > 1 && at <= bytes.length ? at : 0;
}

async function redisProxy(
  redisUrl: string,
  join: (client: Socket, redis: Socket) => void,
): Promise<string> {
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
    join(client, redis);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

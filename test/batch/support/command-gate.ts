import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** What a client sends when it connects. */
const OF_CONNECTING = /^(?:hello|auth|info|client|select|command|config|script)$/i;

/** A proxy in front of Redis that lets a number of commands pass, one by one, and no reply to the last. */
export interface CommandGate {
  readonly port: number;
  /** Commands that passed, those of connecting not counted. */
  readonly passed: number;
}

/**
 * Starts it; it ends with the test.
 *
 * @param commands how many pass
 * @param onLast called when Redis has executed the last
 */
export async function commandGate(
  redisPort: number,
  commands: number,
  onLast: () => void,
): Promise<CommandGate> {
  const state = { passed: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(redisPort, '127.0.0.1');
    let rest: Buffer = Buffer.alloc(0);
    let isLast = false;
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        redis.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let length = commandLength(rest); length > 0; length = commandLength(rest)) {
        if (state.passed >= commands) return;
        const [, , name = ''] = rest.subarray(0, length).toString('latin1').split('\r\n');
        if (!OF_CONNECTING.test(name)) state.passed++;
        isLast = state.passed === commands;
        redis.write(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
    });
    redis.on('data', (bytes: Buffer) => {
      if (isLast) onLast();
      else client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    get passed() {
      return state.passed;
    },
  };
}

/** Length of the first command, an array of texts; 0 if it is not complete. */
function commandLength(bytes: Buffer): number {
  let end = bytes.indexOf('\r\n');
  if (end < 0) return 0;
  const parts = Number(bytes.toString('latin1', 1, end));
  for (let part = 0; part < parts; part++) {
    const from = end + 2;
    const lengthEnd = bytes.indexOf('\r\n', from);
    if (lengthEnd < 0) return 0;
    end = lengthEnd + 2 + Number(bytes.toString('latin1', from + 1, lengthEnd));
  }
  return end + 2 <= bytes.length ? end + 2 : 0;
}

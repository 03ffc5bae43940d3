import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tcpServer, type TestServer } from './servers.ts';

/** A proxy on a free loopback port, closed at the end of the test. */
export interface Proxy extends TestServer {
  /** First requests as the proxy read them. */
  readonly heads: string[];
}

/**
 * A proxy that tunnels CONNECT, or does something else with it.
 *
 * @param from the first connection that `act` gets; those before are tunneled
 * @param outbound the address that the far end sees, as behind NAT
 */
export async function proxyServer(
  act?: (socket: Socket) => void,
  from = 1,
  outbound = '127.0.0.1',
): Promise<Proxy> {
  const heads: string[] = [];
  const server = await tcpServer((client) => {
    client.once('data', (part: Buffer) => {
      const head = part.toString('latin1');
      heads.push(head);
      if (act !== undefined && heads.length >= from) {
        act(client);
        return;
      }
      const port = Number(/^CONNECT 127\.0\.0\.1:(\d+) /.exec(head)?.[1]);
      const upstream = connect({ port, host: '127.0.0.1', localAddress: outbound }, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      upstream.on('error', () => client.destroy());
      client.on('close', () => upstream.destroy());
    });
  });
  return { ...server, heads };
}

import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { certificate, type CertificateName } from '../../service/support/servers.ts';

/** A server that speaks TLS and leads to a loopback port that does not. */
export interface TlsFront {
  readonly port: number;
  /** Handshakes that clients broke off. */
  readonly refused: number;
  /** Shows another certificate from now on, and ends the connections that stand. */
  show(name: CertificateName): void;
  close(): Promise<void>;
}

/** Starts a front that shows the certificate for loopback. */
export async function startTlsFront(target: number): Promise<TlsFront> {
  let refused = 0;
  const sockets = new Set<TLSSocket>();
  const server = createServer(certificate('local'), (client) => {
    const onward = connect(target, '127.0.0.1');
    sockets.add(client);
    for (const socket of [client, onward]) {
      socket.on('error', () => {});
      socket.once('close', () => {
        client.destroy();
        onward.destroy();
      });
    }
    client.once('close', () => sockets.delete(client));
    client.pipe(onward).pipe(client);
  });
  server.on('tlsClientError', () => {
    refused += 1;
  });
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get refused() {
      return refused;
    },
    show: (name) => {
      server.setSecureContext(certificate(name));
      endAll();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      endAll();
      await closed;
    },
  };
}

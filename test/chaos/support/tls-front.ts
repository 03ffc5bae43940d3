import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { certificate, type CertificateName } from '../../service/support/servers.ts';

export type TlsFront = Awaited<ReturnType<typeof startTlsFront>>;

/** A server that speaks TLS with the certificate for loopback, and leads to a loopback port that does not. */
export async function startTlsFront(target: number) {
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
    /** Handshakes that clients broke off. */
    get refused() {
      return refused;
    },
    /** Shows another certificate from now on, and ends the connections that stand. */
    show: (name: CertificateName) => {
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

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';

/** A request as a test server read it, whole. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on a free loopback port, closed at the end of the test. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: () => number;
}

async function listen(server: Server, scheme: string): Promise<TestServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `${scheme}://127.0.0.1:${address.port}`,
    port: address.port,
    connections: () => connections,
  };
}

/** An HTTP server that reads each request whole, remembers it and lets `answer` answer it. */
export async function httpServer(
  answer: (response: ServerResponse, request: SeenRequest) => void,
): Promise<TestServer & { readonly requests: SeenRequest[] }> {
  const requests: SeenRequest[] = [];
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const seen = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      requests.push(seen);
      answer(response, seen);
    });
  };
  const server = await listen(createHttpServer(listener), 'http');
  return { ...server, requests };
}

/** Answers JSON. */
export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** A TCP server that hands over each connection. */
export function tcpServer(
  onSocket: (socket: Socket) => void,
  scheme: 'http' | 'https' = 'http',
): Promise<TestServer> {
  return listen(createTcpServer(onSocket), scheme);
}

/** A TCP server that waits for a whole small request, then hands over connection and bytes. */
export function tcpAnswers(
  onRequest: (socket: Socket, request: string) => void,
): Promise<TestServer> {
  return tcpServer((socket) => {
    let text = '';
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      const request = text;
      text = '';
      onRequest(socket, request);
    });
  });
}

/** Name of a certificate in this folder: `local` is for loopback, `other` for another name. */
export type CertificateName = 'local' | 'other';

/** A self-signed certificate, valid for a hundred years. */
export function certificate(name: CertificateName): { cert: string; key: string } {
  const read = (suffix: string): string =>
    readFileSync(new URL(`${name}.${suffix}`, import.meta.url), 'utf8');
  return { cert: read('crt'), key: read('key') };
}

/** How a {@link tlsServer} deals with its clients. */
export interface TlsBehaviour {
  /** How many connections it resets before the handshake. */
  readonly resetFirst?: number;
  /** From which connection on it resets all, before the handshake. */
  readonly resetFrom?: number;
}

/** A TLS server; `onSecure` gets each connection once its handshake is done. */
export async function tlsServer(
  name: CertificateName,
  onSecure: (socket: Socket) => void,
  { resetFirst = 0, resetFrom = Infinity }: TlsBehaviour = {},
): Promise<TestServer> {
  const { cert, key } = certificate(name);
  const options = { cert, key };
  const server = createTlsServer(options, onSecure);
  server.on('tlsClientError', () => undefined);
  const listening = await listen(server, 'https');
  server.on('connection', (socket: Socket) => {
    const nth = listening.connections();
    if (nth <= resetFirst || nth >= resetFrom) socket.resetAndDestroy();
  });
  return listening;
}

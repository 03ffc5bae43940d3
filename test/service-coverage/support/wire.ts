import { connect } from 'node:net';
import type { Emulator } from '../../../src/emulator/emulator.ts';
import { call } from '../../emulator/calls.ts';
import { httpServer, tcpServer, type SeenRequest } from '../../service/support/servers.ts';

/** A call as it went over the wire, with the status it was answered with. */
interface WireCall extends SeenRequest {
  readonly status: number;
}

/** A server in front of the emulator that passes each call on as it is and writes it down. */
export interface Wire {
  /** Base address to give to a client in place of the emulator's own. */
  readonly url: string;
  /** Calls that were answered, in order. */
  readonly calls: readonly WireCall[];
  /** `POST /api/v2/token 200` for each call. */
  summary(): string[];
  /** The Authorization header of each call whose path contains this. */
  authorizations(path: string): string[];
  /** Connections that were opened. */
  connections(): number;
  /** The most calls that were under way at the same time. */
  mostAtOnce(): number;
}

/** @param pathOf where a path leads at the emulator, for paths that it does not serve itself */
export async function wireTo(
  emulator: Emulator,
  pathOf: (path: string) => string = (path) => path,
): Promise<Wire> {
  const calls: WireCall[] = [];
  let underWay = 0;
  let most = 0;
  const server = await httpServer((response, seen) => {
    underWay += 1;
    most = Math.max(most, underWay);
    const passOn = async () => {
      const { method, headers, body } = seen;
      const wire = { method, headers: flat(headers), body };
      const answer = await call(emulator, pathOf(seen.path), wire);
      calls.push({ ...seen, status: answer.status });
      underWay -= 1;
      response.writeHead(answer.status, flat(answer.headers)).end(answer.text);
    };
    passOn().catch(() => response.destroy());
  });
  return {
    url: server.url,
    calls,
    summary: () => calls.map(({ method, path, status }) => `${method} ${path} ${status}`),
    authorizations: (path) =>
      calls
        .filter((seen) => seen.path.includes(path))
        .map(({ headers }) => headers.authorization ?? ''),
    connections: server.connections,
    mostAtOnce: () => most,
  };
}

/** Headers that belong to the message, each as one text. */
function flat(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => value !== undefined && !ofConnection.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** A proxy whose outbound address is not the address of the machine behind it, as with NAT. */
export async function natTo(outbound: string): Promise<string> {
  const proxy = await tcpServer((client) => {
    client.once('data', (head: Buffer) => {
      const port = Number(/^CONNECT 127\.0\.0\.1:(\d+) /.exec(head.toString('latin1'))?.[1]);
      const upstream = connect({ port, host: '127.0.0.1', localAddress: outbound }, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      upstream.on('error', () => client.destroy());
      client.on('close', () => upstream.destroy());
    });
  });
  return proxy.url;
}

import type { Emulator } from '../../../src/emulator/emulator.ts';
import { call } from '../../emulator/calls.ts';
import { httpServer, type SeenRequest } from '../../service/support/servers.ts';

/** A call as it went over the wire, with the status it was answered with. */
interface WireCall extends SeenRequest {
  readonly status: number;
}

/**
 * A server in front of the emulator that passes each call on as it is and writes it down.
 *
 * @param pathOf where a path leads at the emulator, for paths that it does not serve itself
 */
export async function wireTo(emulator: Emulator, pathOf = (path: string) => path) {
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
    /** Calls that were answered, in order. */
    calls: calls as readonly WireCall[],
    /** `POST /api/v2/token 200` for each call. */
    summary: () => calls.map(({ method, path, status }) => `${method} ${path} ${status}`),
    /** The Authorization header of each call whose path contains this. */
    authorizations: (path: string) =>
      calls
        .filter((seen) => seen.path.includes(path))
        .map(({ headers }) => headers.authorization ?? ''),
    connections: server.connections,
    /** The most calls that were under way at the same time. */
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

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * The error reply to a command in place of the server's, without its `-`; undefined where the server shall answer.
 *
 * @param name in lower case
 */
export type Refuse = (name: string) => string | undefined;

/** A proxy in front of a Redis that answers chosen commands itself, as the gateway of a managed Redis does. */
export interface RefusingRedis {
  readonly port: number;
  /** Commands that were refused so far. */
  readonly refused: number;
  /** From now on; undefined for no command. */
  refuse(refuse: Refuse | undefined): void;
  close(): Promise<void>;
}

/** Starts it in front of a loopback port. A connection that subscribes is only handed on. */
export async function startRefusingRedis(target: number): Promise<RefusingRedis> {
  const state: State = { refuse: undefined, refused: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    between(client, upstream, state);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get refused() {
      return state.refused;
    },
    refuse: (refuse) => {
      state.refuse = refuse;
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** What stands in line for a reply of the server. */
const FROM_SERVER = '';

interface State {
  refuse: Refuse | undefined;
  refused: number;
}

function between(client: Socket, upstream: Socket, state: State): void {
  /** What is to be answered, in order: by the server, or with this error. */
  const due: string[] = [];
  let asked = Buffer.alloc(0);
  let answered = Buffer.alloc(0);
  let subscribes = false;
  /** Inside MULTI: the whole transaction is refused, or none of it. */
  let transaction: 'passes' | 'refused' | undefined;

  const answer = () => {
    for (;;) {
      const next = due[0];
      if (next === undefined) return;
      if (next === FROM_SERVER) {
        const end = endOf(answered, 0);
        if (end === undefined) return;
        client.write(answered.subarray(0, end));
        answered = answered.subarray(end);
      } else {
        client.write(`-${next}\r\n`);
      }
      due.shift();
    }
  };
  const ask = (command: Buffer) => {
    const name = nameOf(command);
    const inside = transaction;
    const error =
      inside === undefined
        ? state.refuse?.(name)
        : inside === 'refused'
          ? 'ERR refused'
          : undefined;
    if (name === 'multi') transaction = error === undefined ? 'passes' : 'refused';
    if (name === 'exec' || name === 'discard') transaction = undefined;
    if (error === undefined) {
      upstream.write(command);
      due.push(FROM_SERVER);
      return;
    }
    state.refused += 1;
    due.push(error);
    answer();
  };
  client.on('data', (bytes: Buffer) => {
    asked = Buffer.concat([asked, bytes]);
    for (;;) {
      const end = subscribes ? asked.length : endOf(asked, 0);
      if (end === undefined || end === 0) return;
      const command = asked.subarray(0, end);
      asked = asked.subarray(end);
      subscribes ||= nameOf(command) === 'subscribe';
      if (subscribes) upstream.write(command);
      else ask(command);
    }
  });
  upstream.on('data', (bytes: Buffer) => {
    answered = Buffer.concat([answered, bytes]);
    answer();
    if (!subscribes || due.length > 0) return;
    client.write(answered);
    answered = Buffer.alloc(0);
  });
}

const nameOf = (command: Buffer): string =>
  command.subarray(0, 200).toString('latin1').split('\r\n')[2]?.toLowerCase() ?? '';

/** Where the value that begins at `at` ends; undefined where it is not complete. */
function endOf(bytes: Buffer, at: number): number | undefined {
  const line = bytes.indexOf('\r\n', at);
  if (line < 0) return undefined;
  const length = Number(bytes.toString('latin1', at + 1, line));
  const rest = line + 2;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case '$':
    case '=':
    case '!':
      if (length < 0) return rest;
      return rest + length + 2 <= bytes.length ? rest + length + 2 : undefined;
    case '*':
    case '~':
    case '%': {
      let end: number | undefined = rest;
      for (
        let left = bytes[at] === 0x25 ? 2 * length : length;
        left > 0 && end !== undefined;
        left--
      )
        end = endOf(bytes, end);
      return end;
    }
    default:
      return rest;
  }
}

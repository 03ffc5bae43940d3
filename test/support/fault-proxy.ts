import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { FaultyLink, type LinkFault, type LinkState } from './faulty-link.ts';

/**
 * A TCP proxy on loopback that breaks what goes through it, on command.
 *
 * States: whole -> faulty (`place`, which takes the place of a fault before) -> whole (`heal`, or a
 * fault with `times` that struck so often); any -> closed (`close`, for good). A connection that a
 * fault ended stays ended.
 */
export interface FaultProxy {
  readonly port: number;
  /**
   * Connections or bytes that faults struck so far: a scenario whose faults hit nothing is void.
   * Connections that `refuse` keeps out are not seen here.
   */
  readonly struck: number;
  /** How often somebody met a `stale` connection that had carried something downwards before. */
  readonly struckKept: number;
  /** Connections that stand. */
  readonly connections: number;
  place(fault: LinkFault): Promise<void>;
  heal(): Promise<void>;
  /** Resets every connection that stands. */
  resetAll(): void;
  /** Leads new connections to another port. */
  retarget(port: number): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a loopback port. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const state: LinkState = {
    target,
    fault: undefined,
    epoch: 0,
    struck: 0,
    struckKept: 0,
    left: Infinity,
  };
  const links = new Set<FaultyLink>();
  const accept = (client: Socket) => {
    const link = new FaultyLink(client, state);
    links.add(link);
    client.once('close', () => links.delete(link));
  };
  let server: Server | undefined = await listen(0, accept);
  const { port } = server.address() as AddressInfo;
  const resetAll = () => {
    for (const link of links) {
      state.struck += 1;
      link.reset();
    }
  };
  const endFault = () => {
    for (const link of links) link.healed();
    state.fault = undefined;
  };
  return {
    port,
    get struck() {
      return state.struck;
    },
    get struckKept() {
      return state.struckKept;
    },
    get connections() {
      return links.size;
    },
    async place(fault) {
      endFault();
      state.fault = fault;
      state.epoch += 1;
      state.left = 'times' in fault ? (fault.times ?? Infinity) : Infinity;
      if (fault.kind === 'stale') for (const link of links) link.stale = fault.by;
      if (fault.kind === 'refuse') {
        server?.close();
        server = undefined;
      } else {
        server ??= await listen(port, accept);
      }
    },
    async heal() {
      endFault();
      server ??= await listen(port, accept);
    },
    resetAll,
    retarget: (next) => {
      state.target = next;
    },
    async close() {
      server?.close();
      server = undefined;
      const closed = [...links].map((link) => link.closed);
      for (const link of links) link.destroy();
      await Promise.all(closed);
    },
  };
}

/** Somebody may hold the port for a moment: a connection of the machine's that took it as its own. */
async function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  for (let tries = 0; ; tries++) {
    const server = createServer({ allowHalfOpen: true }, accept);
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    } catch (error) {
      if (tries === 50) throw error;
      await pause(20);
    }
  }
}

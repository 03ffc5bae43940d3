import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { FaultyLink, type LinkFault, type LinkState } from './faulty-link.ts';

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>;

/**
 * Starts a TCP proxy in front of a loopback port, which breaks what goes through it, on command.
 *
 * States: whole -> faulty (`place`, which takes the place of a fault before) -> whole (`heal`, or a
 * fault with `times` that struck so often); any -> closed (`close`, for good). A connection that a
 * fault ended stays ended.
 */
export async function startFaultProxy(target: number) {
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
    /** As the address of a Redis. */
    url: `redis://127.0.0.1:${port}`,
    /**
     * Connections or bytes that faults struck so far: a scenario whose faults hit nothing is void.
     * Connections that `refuse` keeps out are not seen here.
     */
    get struck() {
      return state.struck;
    },
    /** How often somebody met a `stale` connection that had carried something downwards before. */
    get struckKept() {
      return state.struckKept;
    },
    /** Connections that are open. */
    get connections() {
      return links.size;
    },
    async place(fault: LinkFault) {
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
    /** Resets every open connection. */
    resetAll,
    /** Leads new connections to another port. */
    retarget: (next: number) => {
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

/** A proxy in front of a Redis, which ends with the test. */
export async function faultProxyOf(redisUrl: string): Promise<FaultProxy> {
  const proxy = await startFaultProxy(Number(new URL(redisUrl).port));
  onTestFinished(() => proxy.close());
  return proxy;
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

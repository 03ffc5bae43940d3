import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../async/lifecycle.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisErrorCode } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { endTurn, takeTurn } from '../../redis/turns.ts';

/** Something that one process of the fleet does at intervals. It does no harm if two do it at the same time. */
export interface Chore {
  /** Name in Redis and in the log. */
  readonly name: string;
  /** The fleet does it about so often, in milliseconds, whatever its number of processes. */
  readonly everyMs: number;
  /** @param signal aborted when the process stops */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** How long a turn may last before another process begins the next one, in milliseconds. */
const LEASE_MS = 60_000;

/** The interval of a process is this share of the chore's, and up to one and a half times as long: they do not all ask at once. */
const SHORTEST_SHARE = 0.8;

/** After a turn none follows for this share of the interval: the next time that the same process asks, it gets one. */
const REST_SHARE = 0.75;

/**
 * Does chores of the fleet: each process asks for its turn at each interval, and one gets it. A turn that fails,
 * or whose process dies, is followed by the next one.
 */
export function createChores(
  { redis, keys }: { readonly redis: RedisClient; readonly keys: Pick<Keys, 'turns' | 'events'> },
  chores: readonly Chore[],
  log: Logger,
): BackgroundService {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const busy = new Set<Chore>();
  const timers: NodeJS.Timeout[] = [];

  const turn = async (chore: Chore): Promise<void> => {
    const { name, everyMs, run } = chore;
    if (busy.has(chore) || stopping.signal.aborted) return;
    busy.add(chore);
    try {
      const nonce = randomUUID();
      if (!(await takeTurn(redis, keys, name, nonce, everyMs + LEASE_MS))) return;
      try {
        await run(stopping.signal);
      } finally {
        await endTurn(redis, keys, name, nonce, Math.ceil(everyMs * REST_SHARE));
      }
    } catch (error) {
      log.warn({ event: 'chore-trouble', chore: name, code: redisErrorCode(error) });
    } finally {
      busy.delete(chore);
    }
  };
  const start = (chore: Chore) => {
    const one = turn(chore).finally(() => running.delete(one));
    running.add(one);
  };
  return {
    start: () => {
      if (timers.length > 0) return;
      for (const chore of chores) {
        start(chore);
        const share = SHORTEST_SHARE * (1 + Math.random() / 2);
        timers.push(setInterval(() => start(chore), chore.everyMs * share));
      }
    },
    stop: async () => {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
    },
  };
}

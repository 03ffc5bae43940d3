import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { beat, endHeartbeat } from '../src/queue/heartbeat.ts';
import type { RedisClient } from '../src/redis/connect.ts';
import { redisErrorWord } from '../src/redis/failure.ts';
import type { Keys } from '../src/redis/keys.ts';
import { VERSION } from '../src/version.ts';

/** Says every `everyMs` that this worker lives and how many jobs it holds; a stop says goodbye. */
export function startHeart(
  redis: RedisClient,
  keys: Keys,
  worker: { readonly id: string; readonly concurrency: number; readonly active: () => number },
  everyMs: number,
  log: Logger,
): { stop(): Promise<void> } {
  const { id, concurrency } = worker;
  const startedAt = Date.now();
  const tick = () => {
    const facts = { id, host: hostname(), pid: process.pid, version: VERSION, concurrency };
    beat(redis, keys, { ...facts, active: worker.active(), startedAt }, everyMs).catch(
      (error: unknown) => log.warn({ event: 'heartbeat-trouble', code: redisErrorWord(error) }),
    );
  };
  tick();
  const timer = setInterval(tick, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await endHeartbeat(redis, keys, id).catch(() => {});
    },
  };
}

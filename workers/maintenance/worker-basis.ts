import type { Logger } from 'pino';
import type { Config, ServiceConfig } from '../../src/config/config.ts';
import type { RedisClient, RedisSettings } from '../../src/redis/connect.ts';
import type { Hints } from '../../src/redis/hints.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { ProcessHealth } from '../health/process-health.ts';
import type { UnreadyReasons } from '../health/readiness.ts';

/** The configuration of a worker. Where Redis is may come from the caller's connection. */
export type WorkerProgram = Omit<Config, 'redis'> & {
  readonly redis: RedisSettings & { readonly prefix: string };
};

/** What the parts of a worker share. */
export interface WorkerBasis {
  readonly id: string;
  readonly config: WorkerProgram & { readonly service: ServiceConfig };
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  readonly log: Logger;
  readonly readiness: UnreadyReasons;
  readonly health: ProcessHealth | undefined;
}

import { InvalidArgumentError } from 'commander';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { loadConfig, type Config } from '../config/config.ts';
import { BATCH_ID } from '../contracts/chunk-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { keysOf, type Keys } from '../redis/keys.ts';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** What a command about batches works with. */
export interface OpenLedger {
  readonly ledger: Ledger;
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly config: Config;
}

/** How long one command to Redis, and the first connection, may take. */
const TIMEOUT_MS = 3_000;

/**
 * Opens the ledger for one command and closes it after. Needs no credentials of the service. The
 * client of Redis is loaded when it is needed: the other commands start faster without.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED, and what `use` throws
 */
export async function withLedger<Result>(
  { env }: Pick<CommandContext, 'env'>,
  use: (open: OpenLedger) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig(env, { service: false });
  const keys = keysOf(config.redis.prefix, config.account);
  const { withRedis } = await import('../redis/with-redis.ts');
  const { Ledger } = await import('../batch/ledger/ledger.ts');
  return withRedis(config.redis, TIMEOUT_MS, (redis) =>
    use({ ledger: new Ledger(redis, keys), redis, keys, config }),
  );
}

/** @throws UsageError where there is no such batch */
export async function readBatch(ledger: Pick<Ledger, 'read'>, id: string): Promise<Batch> {
  const batch = await ledger.read(id);
  if (batch === undefined) throw noSuchBatch(id);
  return batch;
}

/** The answer to a batch that is not there. */
export function noSuchBatch(id: string): UsageError {
  return new UsageError(`there is no batch ${id} (any more); "notices batches" lists them`);
}

/** Reads a batch's id, for a command line argument. */
export function batchId(text: string): string {
  if (!BATCH_ID.test(text)) {
    throw new InvalidArgumentError('Expected 1 to 64 letters, digits, hyphens or underscores.');
  }
  return text;
}

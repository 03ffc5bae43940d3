import { Ledger } from '../../batch/ledger/ledger.ts';
import { sealingOf } from '../../payload/seal.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { keysOf } from '../../redis/keys.ts';
import type { StatusTarget } from '../status.ts';
import type { OperationContext } from './operation.ts';

/** The parts of a configuration that operations need. */
export interface OperationSettings extends StatusTarget {
  readonly queue: Parameters<typeof sealingOf>[1] & OperationContext['findSettings'];
  readonly worker: { readonly rateLimit: { readonly limit: number } };
}

/** @param onError gets each error of Redis while the status is read, as it was thrown */
export function operationContext(
  redis: RedisClient,
  settings: OperationSettings,
  onError?: (error: unknown) => void,
): OperationContext {
  const { account, queue, worker } = settings;
  const keys = keysOf(settings.redis.prefix, account);
  const rateLimit = worker.rateLimit.limit;
  return {
    redis,
    keys,
    ledger: new Ledger(redis, keys),
    sealing: sealingOf(account, queue),
    configuredRateLimit: rateLimit,
    findSettings: queue,
    status: async () => {
      // Few operations read it.
      const { readStatus } = await import('../status.ts');
      return readStatus({ redis, keys, rateLimit, onError }, settings);
    },
  };
}

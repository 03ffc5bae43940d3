import type { Logger } from 'pino';
import type { ServiceConfig } from '../../src/config/config.ts';
import type { Hints } from '../../src/redis/hints.ts';
import { pairName, type Keys } from '../../src/redis/keys.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import type { TokenSettings } from '../../src/token/token-decision.ts';
import type { ProcessHealth } from '../health/process-health.ts';

/** What the shared token of a worker needs. */
export interface WorkerTokenOptions {
  readonly redis: RedisClient;
  readonly hints: Hints;
  readonly keys: Keys;
  readonly config: { readonly service: ServiceConfig; readonly token: TokenSettings };
  readonly service: Pick<ServiceClient, 'issueToken'>;
  /** Id of the worker. */
  readonly id: string;
  readonly log: Logger;
  readonly health: ProcessHealth | undefined;
}

/** The shared token of a worker, whose events are in its log and its metrics. */
export function createTokens(options: WorkerTokenOptions): SharedToken {
  const { redis, hints, keys, config, service, id, log, health } = options;
  const pair = pairName(config.service);
  return new SharedToken({
    redis,
    hints,
    keys: keys.token(pair),
    seal: new TokenSeal(config.service.secretKey, pair),
    issue: (signal) => service.issueToken(signal),
    settings: config.token,
    issuer: id,
    onEvent: (event) => {
      const { kind, ...facts } = event;
      log.info({ event: `token-${kind}`, ...facts });
      health?.counted.tokenEvent(event);
    },
    onWait: (ms) => health?.counted.tokenWait(ms),
  });
}

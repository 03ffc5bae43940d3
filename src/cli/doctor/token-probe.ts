import { hostname } from 'node:os';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { judgeToken, type IssueTried } from '../../doctor/judge-token.ts';
import type { Finding } from '../../doctor/finding.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import { keysOf, pairName, type TokenKeys } from '../../redis/keys.ts';
import { createServiceClient } from '../../service/client.ts';
import { IpNotAllowedError } from '../../service/response/service-refusal.ts';
import { issueOnce } from '../../token/issue-once.ts';
import { TokenSeal } from '../../token/token-seal.ts';
import { readTokenStatus } from '../../token/token-status.ts';

/**
 * Checks whether the fleet has a valid token, or can get one. A valid one is left unchanged; without one,
 * a token is issued for the fleet, as a worker does.
 *
 * @param force issue a token in any case: the fleet switches to it without interruption
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function probeToken(
  redis: RedisClient,
  config: Config & { readonly service: ServiceConfig },
  force: boolean,
): Promise<Finding[]> {
  const { service, token: settings } = config;
  const pair = pairName(service.baseUrl, service.accessKey);
  const keys = keysOf(config.redis.prefix, config.account).token(pair);
  const seal = new TokenSeal(service.secretKey, pair);
  const status = await readTokenStatus(redis, keys, settings.budgetWindowMs);
  const { token: stored } = status;
  const opens = stored === undefined ? undefined : await canOpen(redis, keys, seal);

  let tried: IssueTried | undefined;
  let callerAddress: string | undefined;
  const valid =
    stored !== undefined && (stored.expiresAt ?? Infinity) > stored.issuedAt + stored.ageMs;
  // After a recent refusal the service is not asked again, as in the fleet itself.
  if (status.refusal === undefined && (force || (!valid && !status.issuing))) {
    const client = createServiceClient(service);
    try {
      tried = await issueOnce(
        {
          redis,
          keys,
          seal,
          issue: async (signal) => {
            try {
              return await client.issueToken(signal);
            } catch (error) {
              if (error instanceof IpNotAllowedError) ({ callerAddress } = error);
              throw error;
            }
          },
          settings,
          issuer: `doctor ${hostname()}:${process.pid}`,
        },
        stored?.id ?? '',
      );
    } finally {
      await client.close();
    }
  }
  return judgeToken({ status, opens, tried, callerAddress, budget: settings.budget });
}

/** Undefined when the stored token was removed meanwhile. */
async function canOpen(
  redis: RedisClient,
  keys: TokenKeys,
  seal: TokenSeal,
): Promise<boolean | undefined> {
  try {
    const [id, sealed] = await redis.hmget(keys.current, 'id', 'sealed');
    return typeof id === 'string' && typeof sealed === 'string'
      ? seal.unseal(id, sealed) !== undefined
      : undefined;
  } catch (error) {
    throw redisFailure(error);
  }
}

import { hostname } from 'node:os';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { judgeToken, type IssueTried } from '../../doctor/judge-token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../contracts/errors.ts';
import type { Finding } from '../../doctor/finding.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { keysOf, pairName } from '../../redis/keys.ts';
import { ServiceClient } from '../../service/client.ts';
import { ServiceRefusalError } from '../../service/response/read-issuance.ts';
import { SharedToken } from '../../token/shared-token.ts';
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
  const pair = pairName(service);
  const keys = keysOf(config.redis.prefix, config.account).token(pair);
  const status = await readTokenStatus(redis, keys, settings.budgetWindowMs);
  const { token: stored } = status;

  let tried: IssueTried | undefined;
  let callerAddress: string | undefined;
  const valid =
    stored !== undefined && (stored.expiresAt ?? Infinity) > stored.issuedAt + stored.ageMs;
  // After a recent refusal the service is not asked again, as in the fleet itself.
  if (status.refusal === undefined && (force || (!valid && !status.issuing))) {
    const client = new ServiceClient(service);
    let failure: NoticeQueueError | undefined;
    const tokens = new SharedToken({
      redis,
      keys,
      seal: new TokenSeal(service.secretKey, pair),
      issue: async (signal) => {
        try {
          return await client.issueToken(signal);
        } catch (error) {
          if (error instanceof ServiceRefusalError && error.code === 'IP_NOT_ALLOWED') {
            ({ callerAddress } = error);
          }
          if (error instanceof NoticeQueueError) failure = error;
          throw error;
        }
      },
      settings,
      issuer: `doctor ${hostname()}:${process.pid}`,
    });
    const begun = performance.now();
    try {
      const issued = await tokens.issueOnce(stored?.id ?? '');
      tried =
        issued === undefined
          ? { kind: 'left' }
          : { kind: 'issued', id: issued.id, ms: performance.now() - begun };
    } catch (error) {
      if (!(error instanceof TokenRefusedError)) throw error;
      tried = { kind: 'failed', error: failure ?? error };
    } finally {
      await client.close();
    }
  }
  return judgeToken({ status, tried, callerAddress, budget: settings.budget });
}

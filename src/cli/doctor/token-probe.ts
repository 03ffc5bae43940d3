import { hostname } from 'node:os';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { ERROR_CODES, NoticeQueueError, TokenRefusedError } from '../../contracts/errors.ts';
import { fail, ok, skip, warn, type Finding } from '../../doctor/finding.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { keysOf, pairName } from '../../redis/keys.ts';
import { ServiceClient } from '../../service/client.ts';
import { ServiceRefusalError } from '../../service/response/read-issuance.ts';
import { SharedToken } from '../../token/shared-token.ts';
import { TokenSeal } from '../../token/token-seal.ts';
import { readTokenStatus } from '../../token/token-status.ts';

const CHECK = 'service.token';

/**
 * Checks whether the fleet has a valid token, or can get one. A valid one is left unchanged; without one,
 * a token is issued for the fleet, as a worker does. A failure of it is not stored for the fleet.
 *
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function probeToken(
  redis: RedisClient,
  config: Config & { readonly service: ServiceConfig },
): Promise<Finding[]> {
  const { service, token: settings } = config;
  const pair = pairName(service);
  const keys = keysOf(config.redis.prefix, config.account).token(pair);
  const { token, refusal, issuing, issuances } = await readTokenStatus(
    redis,
    keys,
    settings.budgetWindowMs,
  );
  // After a recent refusal the service is not asked again, as in the fleet itself.
  if (refusal !== undefined) {
    const { meaning, remedy } = ERROR_CODES[refusal.code];
    const says = `the service refused to issue a token (${refusal.code}): ${meaning}`;
    return [fail(CHECK, says, remedy), addressOf(refusal.code)];
  }
  const isValid =
    token !== undefined && (token.expiresAt ?? Infinity) > token.issuedAt + token.ageMs;
  if (isValid || issuing) {
    return [isValid ? inUse(token.id, issuances, settings.budget) : LEFT, addressOf()];
  }
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
        if (error instanceof NoticeQueueError) failure = error;
        throw error;
      }
    },
    settings,
    issuer: `doctor ${hostname()}:${process.pid}`,
  });
  const startedAt = performance.now();
  try {
    const issued = await tokens.issueOnce(token?.id ?? '');
    if (issued === undefined) return [LEFT, addressOf()];
    const ms = Math.round(performance.now() - startedAt);
    const says = `a token was issued in ${ms} ms and shared with the fleet (${issued.id})`;
    return [ok(CHECK, says), addressOf()];
  } catch (error) {
    if (!(error instanceof TokenRefusedError)) throw error;
    const { code, message } = failure ?? error;
    const { remedy } = ERROR_CODES[code];
    const says = `${code}: ${message.replace(` ${remedy}`, '')}`;
    return [fail(CHECK, says, remedy), addressOf(code, failure)];
  } finally {
    await client.close();
  }
}

const LEFT = warn(
  CHECK,
  'another process is issuing a token or has just renewed it; doctor issued none',
  'run doctor again in a minute',
);

function inUse(id: string, issuances: number, budget: number): Finding {
  if (issuances <= budget / 2) return ok(CHECK, `the token ${id} is valid; none was issued now`);
  return warn(
    CHECK,
    `${issuances} tokens were issued in ten minutes, of at most ${budget}: tokens become invalid too early`,
    'check whether another program uses this key pair, and which requests are answered with 403',
  );
}

/** @param code of a refusal. @param failure in which the service may say which address it sees */
function addressOf(code?: string, failure?: NoticeQueueError): Finding {
  if (code !== 'IP_NOT_ALLOWED') {
    const says = 'not shown: the service reports it only when it refuses a caller';
    return skip('service.address', says);
  }
  const address = failure instanceof ServiceRefusalError ? failure.callerAddress : undefined;
  const says =
    address === undefined
      ? 'refused; the service does not report which address it sees'
      : `the service refuses the address ${address} of this machine`;
  return fail('service.address', says, ERROR_CODES.IP_NOT_ALLOWED.remedy);
}

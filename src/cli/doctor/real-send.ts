import { hostname } from 'node:os';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { HOLDS } from '../../contracts/hold.ts';
import type { Notice } from '../../contracts/notice.ts';
import type { Outcome } from '../../contracts/outcome.ts';
import { ERROR_CODES, NoticeQueueError } from '../../contracts/errors.ts';
import { fail, ok, warn, type Finding } from '../../doctor/finding.ts';
import { connectRedis, type RedisClient } from '../../redis/connect.ts';
import { Hints } from '../../redis/hints.ts';
import { keysOf, pairName } from '../../redis/keys.ts';
import { decideOutcome } from '../../service/outcome-table.ts';
import type { SendAnswer } from '../../service/response/send-answer.ts';
import { createServiceClient } from '../../service/client.ts';
import { TokenSeal } from '../../token/token-seal.ts';
import { SharedToken } from '../../token/shared-token.ts';

/**
 * Makes one send call to the service itself, with the token of the fleet, past the queue: so it tells
 * of the service also where the queue is held or no worker runs. It is never tried again.
 */
export async function realSend(
  redis: RedisClient,
  config: Config & { readonly service: ServiceConfig },
  notice: Notice,
): Promise<Finding> {
  const { service } = config;
  const pair = pairName(service.baseUrl, service.accessKey);
  const client = createServiceClient(service);
  const subscriber = connectRedis(config.redis, 'subscriber', () => {});
  const tokens = new SharedToken({
    redis,
    hints: new Hints(subscriber),
    keys: keysOf(config.redis.prefix, config.account).token(pair),
    seal: new TokenSeal(service.secretKey, pair),
    issue: (signal) => client.issueToken(signal),
    settings: config.token,
    issuer: `doctor ${hostname()}:${process.pid}`,
  });
  try {
    await tokens.start();
    const answer = await client.send(notice, tokens, { deadlineMs: service.sendDeadlineMs });
    return judgeSend(decideOutcome(answer), answer);
  } catch (error) {
    const code = error instanceof NoticeQueueError ? error.code : 'TOKEN_UNAVAILABLE';
    const { meaning, remedy } = ERROR_CODES[code];
    return fail('send', `nothing was sent (${code}): ${meaning}`, remedy);
  } finally {
    await tokens.stop();
    subscriber.disconnect();
    await client.close();
  }
}

/** What the service's answer to the one send call says to a person. */
export function judgeSend(
  outcome: Outcome,
  { message, durationMs }: Pick<SendAnswer, 'message' | 'durationMs'>,
): Finding {
  const words = message === undefined ? '' : `: ${message}`;
  switch (outcome.kind) {
    case 'accepted':
      return outcome.confirmed
        ? ok(
            'send',
            `the service took it in ${Math.round(durationMs)} ms; whether it arrives, the telephone shows`,
          )
        : warn(
            'send',
            'the service answered success, with a body that could not be read',
            'look whether it arrives',
          );
    case 'hold': {
      const { reason, remedy } = HOLDS[outcome.hold];
      return fail('send', `${outcome.code}${words}: ${reason}`, remedy);
    }
    case 'rejected':
      return fail(
        'send',
        `the service refused it (${outcome.code})${words}`,
        'check the template code, its variables, the sender keys and the number',
      );
    case 'unknown':
      return fail(
        'send',
        `it may have been taken, or not (${outcome.code})${words}`,
        'look at the telephone before you try again; the service itself may be in trouble',
      );
    case 'retry':
      return fail(
        'send',
        `nothing was sent (${outcome.code})${words}`,
        ERROR_CODES.SERVICE_UNREACHABLE.remedy,
      );
    case 'expired':
    case 'cancelled':
      return fail('send', 'nothing was sent', 'try again');
  }
}

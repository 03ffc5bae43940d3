import { hostname } from 'node:os';
import type { Config, ServiceConfig } from '../../config/config.ts';
import { HOLDS } from '../../contracts/hold.ts';
import type { Notice } from '../../contracts/notice.ts';
import type { Outcome } from '../../contracts/outcome.ts';
import { ERROR_CODES, NoticeQueueError } from '../../contracts/errors.ts';
import { fail, ok, warn, type Finding } from '../../doctor/finding.ts';
import { formatDuration } from '../../format/format.ts';
import { connectRedis, type RedisClient } from '../../redis/connect.ts';
import { Hints } from '../../redis/hints.ts';
import { keysOf, pairName } from '../../redis/keys.ts';
import { decideOutcome } from '../../service/outcome-table.ts';
import type { SendAnswer } from '../../service/response/send-answer.ts';
import { createServiceClient } from '../../service/client.ts';
import { TokenSeal } from '../../token/token-seal.ts';
import { SharedToken } from '../../token/shared-token.ts';

/**
 * Sends one request to the service itself, with the token of the fleet and without the queue: it checks
 * the service even during a hold or without workers. It is never retried.
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
    recordsFailures: false,
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

/** The finding for the response to the send request. */
export function judgeSend(
  outcome: Outcome,
  { message, durationMs }: Pick<SendAnswer, 'message' | 'durationMs'>,
): Finding {
  const words = message === undefined ? '' : `: ${message}`;
  const rejected = (code: string) =>
    fail(
      'send',
      `rejected by the service (${code})${words}`,
      'check the template code, its variables, the sender keys and the number',
    );
  switch (outcome.kind) {
    case 'accepted':
      return outcome.confirmed
        ? ok(
            'send',
            `accepted by the service in ${formatDuration(durationMs)}; check the phone for its arrival`,
          )
        : warn(
            'send',
            'the service responded with success and an unreadable body',
            'check the phone for its arrival',
          );
    case 'hold': {
      if (outcome.hold === 'credentials' && outcome.ownAfter === 1) return rejected(outcome.code);
      const { reason, remedy } = HOLDS[outcome.hold];
      return fail('send', `${outcome.code}${words}: ${reason}`, remedy);
    }
    case 'rejected':
      return rejected(outcome.code);
    case 'unknown':
      return fail(
        'send',
        `outcome unknown: the service may have accepted it (${outcome.code})${words}`,
        'check the phone before you try again; the service itself may have problems',
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

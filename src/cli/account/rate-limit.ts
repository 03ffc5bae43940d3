import { Command } from 'commander';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  type RateLimitStatus,
} from '../../fleet/rate-limit/rate-limit-state.ts';
import { writeTime } from '../../format/relative-time.ts';
import type { ExplainedRateLimit } from '../../ops/manual-rate-limit.ts';
import { whyOption, wholeNumber } from '../arguments.ts';
import { UsageError } from '../usage-error.ts';
import { currentUser, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print } from '../output.ts';

const NO_LIMIT = 'no limit';
const UNIT = 'send requests per second';

/** `notices rate-limit`: shows the rate limit; with a value it sets it for all workers at once. */
export function rateLimitCommand(context: CommandContext): Command {
  return new Command('rate-limit')
    .argument(
      '[limit]',
      'send requests per second over all workers, "off" for no limit, "default" for RATE_LIMIT',
      limitOf,
    )
    .addOption(whyOption(MAX_RATE_LIMIT_REASON))
    .action((limit: ExplainedRateLimit | undefined, flags: { why?: string }, command: Command) => {
      if (limit === undefined && flags.why !== undefined) {
        throw new UsageError('--why requires a new rate limit');
      }
      return withLedger(context, async ({ redis, keys, config }) => {
        const { rateLimitInForce, setAuditedRateLimit } =
          await import('../../ops/manual-rate-limit.ts');
        if (limit !== undefined) {
          const actor = { who: currentUser(), why: flags.why ?? '' };
          await setAuditedRateLimit({ redis, keys }, limit, actor);
        }
        const shown = await rateLimitInForce({ redis, keys }, config.worker.rateLimit.limit);
        print(context, command, { rateLimit: shown ?? null }, () => [
          describeRateLimit(shown, Date.now()),
        ]);
      });
    });
}

/**
 * Describes the rate limit in one line: the limit in force, the one set, and why it is lower.
 *
 * @param now milliseconds since the epoch
 */
export function describeRateLimit(status: RateLimitStatus | undefined, now: number): string {
  if (status === undefined) return NO_LIMIT;
  const { configured, manual, fall, lowUntil } = status;
  const limit = manual ?? configured;
  const origin = manual === undefined ? '' : ', set manually';
  if (fall === undefined || lowUntil === undefined) {
    return `${limit === 0 ? NO_LIMIT : `${limit} ${UNIT}`}${origin}`;
  }
  const of = limit === 0 ? '' : ` of ${limit}`;
  const recovered = limit === 0 ? 'no limit again' : `back at ${limit}`;
  const cause = `429 ${writeTime(fall.at, now)} at ${rounded(fall.from)}/s`;
  const recovery = `${recovered} ${writeTime(lowUntil, now, (span) => `in ${span}`)}`;
  return `${rounded(status.now ?? limit)}${of} ${UNIT}${origin}: ${cause}; ${recovery}`;
}

function rounded(perSecond: number): string {
  return String(Math.round(perSecond * 10) / 10);
}

function limitOf(text: string): ExplainedRateLimit {
  return text === 'off' || text === 'default' ? text : wholeNumber(1, MAX_RATE_LIMIT)(text);
}

import { Command, InvalidArgumentError } from 'commander';
import {
  MAX_RATE_LIMIT,
  MAX_RATE_LIMIT_REASON,
  rateLimitInForce,
  setAuditedRateLimit,
  type ExplainedRateLimit,
} from '../../ops/manual-rate-limit.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { describeRateLimit } from './rate-limit-view.ts';
import { UsageError } from '../usage-error.ts';
import { whoAmI } from '../who.ts';

/** `notices pace`: shows the pace; with a value it sets it for all workers while they run. */
export function rateLimitCommand(context: CommandContext): Command {
  return new Command('pace')
    .description('how fast the account may send; set it while workers run')
    .argument(
      '[pace]',
      'send calls a second of all workers together, "off" for no limit, "default" to go by PACE again',
      named,
    )
    .option('--why <words>', 'kept in the audit stream', why)
    .action((pace: ExplainedRateLimit | undefined, flags: { why?: string }, command: Command) => {
      if (pace === undefined && flags.why !== undefined) {
        throw new UsageError('--why goes with a pace that is set');
      }
      return withLedger(context, async ({ redis, keys, config }) => {
        if (pace !== undefined) {
          await setAuditedRateLimit({ redis, keys }, pace, { who: whoAmI(), why: flags.why ?? '' });
        }
        const shown = await rateLimitInForce({ redis, keys }, config.worker.rateLimit.limit);
        print(context, command, { pace: shown ?? null }, () => [
          describeRateLimit(shown, Date.now()),
        ]);
      });
    });
}

function named(text: string): ExplainedRateLimit {
  return text === 'off' || text === 'default' ? text : wholeNumber(1, MAX_RATE_LIMIT)(text);
}

function why(text: string): string {
  const words = text.trim();
  if (words === '' || words.length > MAX_RATE_LIMIT_REASON) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_RATE_LIMIT_REASON} characters.`);
  }
  return words;
}

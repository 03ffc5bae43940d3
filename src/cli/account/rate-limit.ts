import { Command, InvalidArgumentError } from 'commander';
import {
  MAX_PACE,
  MAX_PACE_WHY,
  paceInForce,
  placePace,
  type NamedPace,
} from '../../ops/manual-rate-limit.ts';
import { wholeNumber } from '../arguments.ts';
import { withLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { describePace } from './rate-limit-view.ts';
import { UsageError } from '../usage-error.ts';
import { whoAmI } from '../who.ts';

/** `notices pace`: shows the pace; with a value it sets it for all workers while they run. */
export function paceCommand(): Command {
  return new Command('pace')
    .description('how fast the account may send; set it while workers run')
    .argument(
      '[pace]',
      'send calls a second of all workers together, "off" for no limit, "default" to go by PACE again',
      named,
    )
    .option('--why <words>', 'kept in the audit stream', why)
    .action((pace: NamedPace | undefined, flags: { why?: string }, command: Command) => {
      if (pace === undefined && flags.why !== undefined) {
        throw new UsageError('--why goes with a pace that is set');
      }
      return withLedger(async ({ redis, keys, config }) => {
        if (pace !== undefined) {
          await placePace({ redis, keys }, pace, { who: whoAmI(), why: flags.why ?? '' });
        }
        const shown = await paceInForce({ redis, keys }, config.worker.pace.pace);
        print(command, { pace: shown ?? null }, () => [describePace(shown, Date.now())]);
      });
    });
}

function named(text: string): NamedPace {
  return text === 'off' || text === 'default' ? text : wholeNumber(1, MAX_PACE)(text);
}

function why(text: string): string {
  const words = text.trim();
  if (words === '' || words.length > MAX_PACE_WHY) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_PACE_WHY} characters.`);
  }
  return words;
}

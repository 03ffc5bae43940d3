import { Command, InvalidArgumentError } from 'commander';
import { appendAudit } from '../../ops/audit.ts';
import { readPace } from '../../queue/pace-state.ts';
import { setPaceByHand } from '../../queue/pacer.ts';
import { redisFailure } from '../../redis/failure.ts';
import { wholeNumber } from '../arguments.ts';
import { withLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { describePace } from '../pace-view.ts';
import { UsageError } from '../usage-error.ts';
import { whoAmI } from '../who.ts';

const MAX_WHY = 100;
const MAX_PACE = 100_000;

/** A pace as it is named on the command line, and in the audit stream. */
type Named = number | 'off' | 'default';

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
    .action((pace: Named | undefined, flags: { why?: string }, command: Command) => {
      if (pace === undefined && flags.why !== undefined) {
        throw new UsageError('--why goes with a pace that is set');
      }
      return withLedger(async ({ redis, keys, config }) => {
        try {
          if (pace !== undefined) {
            await setPaceByHand(redis, keys, valueOf(pace));
            const act = { what: 'pace', target: 'queue', as: String(pace) } as const;
            await appendAudit(redis, keys, { who: whoAmI(), ...act, why: flags.why ?? '' });
          }
          const shown = await readPace(redis, keys, config.worker.pace.pace);
          print(command, { pace: shown ?? null }, () => [describePace(shown, Date.now())]);
        } catch (error) {
          throw redisFailure(error);
        }
      });
    });
}

function valueOf(pace: Named): number | undefined {
  if (pace === 'default') return undefined;
  return pace === 'off' ? 0 : pace;
}

function named(text: string): Named {
  return text === 'off' || text === 'default' ? text : wholeNumber(1, MAX_PACE)(text);
}

function why(text: string): string {
  const words = text.trim();
  if (words === '' || words.length > MAX_WHY) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_WHY} characters.`);
  }
  return words;
}

import { Command, InvalidArgumentError } from 'commander';
import {
  holdInForce,
  liftAuditedHold,
  MAX_HOLD_REASON,
  placeAuditedHold,
  type ExplainedHold,
} from '../../ops/manual-hold.ts';
import { describeHold } from './hold-view.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { whoAmI } from '../who.ts';

/** `notices hold`: shows the hold in force; `place` and `lift` act by hand. */
export function holdCommand(context: CommandContext): Command {
  return new Command('hold')
    .description('the hold in force; hold the queue by hand, and lift a hold')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(placeCommand(context))
    .addCommand(liftCommand(context));
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('the hold in force: reason, since when, next probe, remedy')
    .action((_flags: object, command: Command) =>
      withLedger(context, async (open) => {
        const explained = await holdInForce(open);
        print(context, command, showHold(explained), () => [describeHold(explained, Date.now())]);
      }),
    );
}

function placeCommand(context: CommandContext): Command {
  return new Command('place')
    .description('hold the queue until it is lifted by hand; what is being sent is let finish')
    .requiredOption('--why <words>', 'shown to whoever asks why nothing goes out', why)
    .action((flags: { why: string }, command: Command) =>
      withLedger(context, async (open) => {
        const { hold } = showHold(await placeAuditedHold(open, { who: whoAmI(), why: flags.why }));
        print(context, command, { hold }, () => [
          'the queue is held; "notices hold lift" lets it flow',
        ]);
      }),
    );
}

function liftCommand(context: CommandContext): Command {
  return new Command('lift')
    .description('end the hold in force; one whose cause lasts comes back by itself')
    .action((_flags: object, command: Command) =>
      withLedger(context, async (open) => {
        const lifted = await liftAuditedHold(open, { who: whoAmI(), why: '' });
        print(context, command, { lifted: lifted ?? null }, () => [
          lifted === undefined ? 'nothing was held' : `the hold ${lifted} is lifted`,
        ]);
      }),
    );
}

/** The hold, and beside it what it means. */
function showHold(explained: ExplainedHold | undefined) {
  if (explained === undefined) return { hold: null };
  const { reason, remedy, ...hold } = explained;
  return { hold, reason, remedy };
}

function why(text: string): string {
  const words = text.trim();
  if (words === '' || words.length > MAX_HOLD_REASON) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_HOLD_REASON} characters.`);
  }
  return words;
}

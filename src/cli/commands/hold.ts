import { Command, InvalidArgumentError } from 'commander';
import { HOLDS } from '../../contracts/hold.ts';
import { holdByHand, liftByHand, readHold } from '../../queue/hold-gate.ts';
import { appendAudit } from '../../ops/audit.ts';
import { redisFailure } from '../../redis/failure.ts';
import { describeHold } from '../hold-view.ts';
import { withLedger, type OpenLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { whoAmI } from '../who.ts';

const MAX_WHY = 100;

/** `notices hold`: shows the hold in force; `place` and `lift` act by hand. */
export function holdCommand(): Command {
  return new Command('hold')
    .description('the hold in force; hold the queue by hand, and lift a hold')
    .addCommand(showCommand(), { isDefault: true })
    .addCommand(placeCommand())
    .addCommand(liftCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('the hold in force: reason, since when, next probe, remedy')
    .action((_flags: object, command: Command) =>
      withHold(async ({ redis, keys }) => {
        const hold = await readHold(redis, keys);
        const explained =
          hold === undefined
            ? {}
            : { reason: HOLDS[hold.kind].reason, remedy: HOLDS[hold.kind].remedy };
        print(command, { hold: hold ?? null, ...explained }, () => [
          describeHold(hold, Date.now()),
        ]);
      }),
    );
}

function placeCommand(): Command {
  return new Command('place')
    .description('hold the queue until it is lifted by hand; what is being sent is let finish')
    .requiredOption('--why <words>', 'shown to whoever asks why nothing goes out', why)
    .action((flags: { why: string }, command: Command) =>
      withHold(async ({ redis, keys }) => {
        await holdByHand(redis, keys, flags.why);
        await appendAudit(redis, keys, {
          who: whoAmI(),
          what: 'hold',
          target: 'queue',
          as: 'placed',
          why: flags.why,
        });
        const hold = await readHold(redis, keys);
        print(command, { hold: hold ?? null }, () => [
          'the queue is held; "notices hold lift" lets it flow',
        ]);
      }),
    );
}

function liftCommand(): Command {
  return new Command('lift')
    .description('end the hold in force; one whose cause lasts comes back by itself')
    .action((_flags: object, command: Command) =>
      withHold(async ({ redis, keys }) => {
        const lifted = await liftByHand(redis, keys);
        if (lifted !== undefined) {
          const what = { what: 'hold', target: 'queue', as: `lifted ${lifted}` } as const;
          await appendAudit(redis, keys, { who: whoAmI(), ...what, why: '' });
        }
        print(command, { lifted: lifted ?? null }, () => [
          lifted === undefined ? 'nothing was held' : `the hold ${lifted} is lifted`,
        ]);
      }),
    );
}

/** What a script throws becomes an error of ours. */
function withHold(use: (open: OpenLedger) => Promise<void>): Promise<void> {
  return withLedger(async (open) => {
    try {
      await use(open);
    } catch (error) {
      throw redisFailure(error);
    }
  });
}

function why(text: string): string {
  const words = text.trim();
  if (words === '' || words.length > MAX_WHY) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_WHY} characters.`);
  }
  return words;
}

import { Command } from 'commander';
import {
  addSuppression,
  checkSuppression,
  removeSuppression,
} from '../../ops/operations/suppress.ts';
import { wholeNumber, whyOption } from '../arguments.ts';
import { withReadingFlags } from '../batches/import-flags.ts';
import type { CommandContext } from '../command-context.ts';
import { operationCommand } from '../operation-command.ts';
import { exportList, importList, syncList, type FileFlags } from './suppress-files.ts';

/** `notices suppress`: the do-not-send list of the account. */
export const suppressCommand = (context: CommandContext): Command =>
  new Command('suppress')
    .description(
      'The do-not-send list: adds, removes or checks a number; imports, synchronises or exports the list.',
    )
    .addCommand(operationCommand(context, addSuppression))
    .addCommand(operationCommand(context, removeSuppression))
    .addCommand(operationCommand(context, checkSuppression))
    .addCommand(
      withFile(new Command('import'))
        .description('Puts the numbers of a file on the list, or of standard input, as -.')
        .action((file: string, flags: FileFlags, command: Command) =>
          importList(context, command, file, flags),
        ),
    )
    .addCommand(
      withFile(new Command('sync'))
        .description(
          'Makes the list equal to a file: adds numbers, and removes those that it lacks.',
        )
        .option('--yes', 'do not ask for confirmation')
        .option(
          '--allow-removing <n>',
          'most numbers that --yes removes (default: a tenth of the list, or half of one of up to 20 numbers)',
          wholeNumber(0, 1_000_000_000),
        )
        .action((file: string, flags: FileFlags, command: Command) =>
          syncList(context, command, file, flags),
        ),
    )
    .addCommand(
      new Command('export')
        .description('Writes the list as CSV: keyed hashes, from which no number follows.')
        .addOption(whyOption())
        .action(({ why }: FileFlags) => exportList(context, why)),
    );

const withFile = (command: Command): Command =>
  withReadingFlags(command)
    .argument('<file>', 'CSV or NDJSON with the column contact and perhaps reason')
    .option('--contact <column>', 'column of the phone numbers (default: contact)')
    .addOption(whyOption());

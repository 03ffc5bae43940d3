import { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { table } from '../../format/format.ts';
import { print } from '../output.ts';

/** `notices config`: exits with 2 when the configuration is invalid. */
export function configCommand(context: CommandContext): Command {
  return new Command('config')
    .description(
      'Prints the effective configuration, with secrets masked, and what is wrong in it.',
    )
    .option(
      '--producer',
      'do not require the URL and the key pair of the service, as for a producer',
    )
    .action(async (options: { producer?: boolean }, command: Command) => {
      const { describeConfig } = await import('../../config/config.ts');
      const report = describeConfig(context.env, { service: options.producer !== true });
      print(context, command, report, () => [
        ...table(report.rows.map(({ name, value, from }) => [name, value, from])),
        ...report.answerRules,
        ...report.issues.map(({ field, problem }) => `invalid: ${field}: ${problem}`),
      ]);
      if (report.issues.length > 0) context.end(2);
    });
}

import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { COMMANDS } from './command-table.ts';

/** As commander names them. */
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version']);

/**
 * What a command line needs: its command; none for the version; all for the help of the program, and for the nearest name
 * in place of an unknown one.
 */
export async function loadCommands(
  args: readonly string[],
  context: CommandContext,
): Promise<Command[]> {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  if (name === undefined && args.some((arg) => VERSION_FLAGS.has(arg))) return [];
  const entries = Object.entries(COMMANDS);
  const named = entries.filter(([one]) => one === name);
  return Promise.all(
    (named.length === 0 ? entries : named).map(async ([, { group, example, load }]) => {
      const command = (await load())(context);
      return command.helpGroup(group).addHelpText('after', `\nExample:\n  ${example}`);
    }),
  );
}

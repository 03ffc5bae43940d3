import { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { COMMANDS, type CommandEntry } from './command-table.ts';

/** As commander names them. */
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version']);

/**
 * What a command line needs: its command; none for the version. The help of the program and the nearest name in place
 * of an unknown one need names and texts of all, for which none is loaded.
 */
export async function loadCommands(
  args: readonly string[],
  context: CommandContext,
): Promise<Command[]> {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  if (name === undefined && args.some((arg) => VERSION_FLAGS.has(arg))) return [];
  if (name !== undefined && Object.hasOwn(COMMANDS, name)) {
    const entry = COMMANDS[name];
    return entry === undefined ? [] : [await loaded(entry, context)];
  }
  return Object.entries(COMMANDS).map(listed);
}

async function loaded(
  { group, description, example, load }: CommandEntry,
  context: CommandContext,
): Promise<Command> {
  return (await load())(context)
    .description(description)
    .helpGroup(group)
    .addHelpText('after', `\nExample:\n  ${example}`);
}

/** A command as the help of the program lists it; it cannot run. */
function listed([name, { group, takes, description }]: readonly [string, CommandEntry]): Command {
  const command = new Command(name).description(description).helpGroup(group);
  for (const argument of takes?.split(' ') ?? []) command.argument(argument);
  return command;
}

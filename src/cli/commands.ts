import { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { COMMANDS, type CommandEntry } from './command-table.ts';

/** As commander names them. */
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version']);

/** Commands that need the names and flags of all others. */
const NEED_ALL: ReadonlySet<string> = new Set(['completion']);

/**
 * What a command line needs: its command; none for the version. The help of the program, shell completion and the
 * nearest name in place of an unknown one need names and texts of all, for which none is loaded.
 */
export async function loadCommands(
  args: readonly string[],
  context: CommandContext,
): Promise<Command[]> {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const name = words[0] === 'help' ? words[1] : words[0];
  if (name === undefined && args.some((arg) => VERSION_FLAGS.has(arg))) return [];
  const isKnown = name !== undefined && Object.hasOwn(COMMANDS, name);
  const isOne = isKnown && !NEED_ALL.has(name);
  const entries = Object.entries(COMMANDS).filter(([each]) => !isOne || each === name);
  const own = isKnown ? COMMANDS[name] : undefined;
  const command = own === undefined ? undefined : await loaded(own, context);
  return entries.map((entry) => (entry[0] === name ? (command ?? listed(entry)) : listed(entry)));
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

/** A command as the help of the program and shell completion list it; it cannot run. */
function listed([name, entry]: readonly [string, CommandEntry]): Command {
  const { group, takes, words = '', description } = entry;
  const command = new Command(name).description(description).helpGroup(group);
  if (takes !== undefined) command.argument(takes);
  for (const word of words.split(' ')) {
    if (word.startsWith('--')) command.option(word);
    else if (word !== '') command.addCommand(new Command(word));
  }
  return command;
}

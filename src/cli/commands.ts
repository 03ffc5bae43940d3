import { Command } from 'commander';
import type { CommandHelp, Operation } from '../ops/operations/operation.ts';
import type { CommandContext } from './command-context.ts';
import { COMMANDS, type CommandEntry } from './command-table.ts';

/** As commander names them. */
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version']);

/** In the order of the help. */
const GROUPS: readonly CommandHelp['group'][] = [
  'Single notices',
  'Batches',
  'Not accepted',
  'Account',
  'Processes',
];

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
  const makeOwn = async (entry: CommandEntry) => helped((await entry.load())(context), entry);
  const entry = Object.entries(COMMANDS).find(([one]) => one === name)?.[1];
  if (entry !== undefined) return [await makeOwn(entry)];
  const ofOperations = await operationCommands(context);
  const named = ofOperations.filter((command) => command.name() === name);
  if (named.length > 0) return named;
  const all = [...(await Promise.all(Object.values(COMMANDS).map(makeOwn))), ...ofOperations];
  return GROUPS.flatMap((group) => all.filter((one) => one.helpGroup() === `${group}:`));
}

function helped(command: Command, { group, example, adds }: CommandHelp): Command {
  if (adds !== undefined) command.description(`${command.description()} ${adds}`);
  return command.helpGroup(`${group}:`).addHelpText('after', `\nExample:\n  ${example}`);
}

/** The commands that run operations, and do no more. */
async function operationCommands(context: CommandContext): Promise<Command[]> {
  const [{ OPERATIONS }, { operationCommand }] = await Promise.all([
    import('../ops/operations/operations.ts'),
    import('./operation-command.ts'),
  ]);
  const rows: readonly Operation[] = OPERATIONS;
  return rows.flatMap((row) => {
    const { name, help } = row;
    if (help === undefined) return [];
    const [word = '', below] = name.split(' ');
    if (below === undefined) return [helped(operationCommand(context, row), help)];
    const group = rows.filter((other) => other.name.startsWith(`${word} `));
    const command = new Command(word).description(group.map(({ summary }) => summary).join(' '));
    for (const other of group) {
      const isDefault = other === row;
      const one = operationCommand(context, other);
      if (isDefault) one.description(other.summary.replace(/\.$/, ' (default).'));
      command.addCommand(one, { isDefault });
    }
    return [helped(command, help)];
  });
}

import type { Command } from 'commander';
import { processSurroundings } from '../src/cli/command-context.ts';
import { loadCommands } from '../src/cli/commands.ts';
import { OPERATIONS_OF } from '../src/cli/operation-command.ts';
import { shapeOf } from '../src/ops/operations/fields.ts';

/** Fields that commands write with `--json`, besides those of the answers of their operations. */
export const OWN: Readonly<Record<string, string>> = {
  send: 'id contacts duplicate',
  import: `event batch rows contacts empty chunks duplicates repeated refused columns normalised repaired bytes bytesRead
    totalBytes perSecond restMs waiting resumed alreadyImported dryRun rejectsFile firstRefused reasons firstDuplicates
    problem phase counts standstill continueImport failures`,
  batch: 'event phase counts perSecond',
  'events list': `cursor at event notice state code batch phase total accepted rejected unknown expired cancelled
    suppressed possiblySentTwice pending failure contacts kind since waiting waitedMs notices usedBytes limitBytes`,
  'events test': 'taken status why',
  'suppress import': 'rows added refused listed',
  'suppress sync': 'rows added removed listed',
  doctor: 'worst findings',
  config: 'rows answerRules issues',
  'ops serve': 'url firstSignIn',
  'ops hash-password': 'entry',
  'ops new-key': 'key entry',
  emulator: 'url control',
};

const around = { ...processSurroundings(), end: () => {}, warn: () => {} };

/** Commands and subcommands by name, in the order of the help. */
const COMMANDS = new Map((await loadCommands([], around)).flatMap((one) => leavesOf(one, '')));

function leavesOf(command: Command, before: string): (readonly [string, Command])[] {
  const name = `${before}${command.name()}`;
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((below) => leavesOf(below, `${name} `));
}

/** What each command writes with `--json`; nothing where it has no result. */
export const FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  [...COMMANDS].map(([name, command]) => {
    const rows = OPERATIONS_OF.get(command) ?? [];
    const answered = rows.flatMap(({ output }) => Object.keys(shapeOf(output)));
    const own = OWN[name]?.split(/\s+/) ?? [];
    return [name, [...new Set([...answered, ...own])]];
  }),
);

const code = (text: string) => `\`${text.replaceAll('|', '\\|')}\``;
const codes = (texts: readonly string[]) => texts.map(code).join(', ');

/** The tables of docs/commands.md: the commands with their arguments and flags, and the fields of their results. */
export const COMMAND_TABLES = {
  commands: [
    '| command | what it does | flags |\n|---|---|---|',
    ...[...COMMANDS].map(([name, command]) => {
      const args = command.registeredArguments.map((one) => {
        const words = `${one.name()}${one.variadic ? '...' : ''}`;
        return one.required ? ` <${words}>` : ` [${words}]`;
      });
      const flags = codes(command.options.map((option) => option.flags));
      return `| ${code(`notices ${name}${args.join('')}`)} | ${command.description()} | ${flags} |`;
    }),
  ].join('\n'),
  fields: [
    '| command | fields |\n|---|---|',
    ...[...FIELDS]
      .filter(([, fields]) => fields.length > 0)
      .map(([name, fields]) => `| ${code(name)} | ${codes(fields)} |`),
  ].join('\n'),
};

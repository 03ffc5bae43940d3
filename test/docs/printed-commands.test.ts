import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { processSurroundings } from '../../src/cli/command-context.ts';
import { loadCommands } from '../../src/cli/commands.ts';

/*
 * Every command line that messages, remedies, help and documents print, against the grammar of the command line:
 * what is printed can be typed. Nothing is run.
 */

/** A command line, where it is printed, and whether it is only the name of a command in a sentence. */
interface Printed {
  readonly line: string;
  readonly file: string;
  readonly mention: boolean;
}

const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name));

/** What code fills in. */
const filled = (line: string): string => line.replaceAll(/\$\{[^}]*\}/g, 'spring').trim();

/** The lines of code: in quotes in a message, or as code in a comment or a description. */
function inCode(file: string): Printed[] {
  const text = readFileSync(file, 'utf8');
  const quoted = [...text.matchAll(/"notices ([a-z][^"\n]*)"/g)];
  const examples = [...text.matchAll(/example:\s*'notices ([^'\n]+)'/g)];
  // In a text the marks are escaped; other marks begin a text, unless they are in a comment.
  const asCode = [
    ...text.matchAll(/\\`notices ([a-z][^`\n\\]*)\\`/g),
    ...text.matchAll(/^\s*(?:\/?\*+|\/\/) .*?`notices ([a-z][^`\n]*)`/gm),
  ];
  return [
    ...[...quoted, ...examples].map(([, line = '']) => ({ line, mention: false })),
    ...asCode.map(([, line = '']) => ({ line, mention: true })),
  ].map(({ line, mention }) => ({ line: filled(line), file, mention }));
}

/** The lines of a document: in blocks for a shell, and as code in a sentence. */
function inDocument(file: string): Printed[] {
  const text = readFileSync(file, 'utf8');
  const blocks = [...text.matchAll(/^```(?:sh|console)\n([^]*?)^```/gm)];
  const typed = blocks.flatMap(([, block = '']) => [
    ...block.replaceAll(/\\\n\s*/g, '').matchAll(/^(?:\$ )?(?:npx )?notices (.+)$/gm),
  ]);
  const inSentences = text
    .replaceAll(/^```[^]*?^```/gm, '')
    .matchAll(/`(?:npx )?notices ([a-z][^`\n]*)`/g);
  return [
    ...typed.map(([, line = '']) => ({ line, file, mention: false })),
    ...[...inSentences].map(([, line = '']) => ({ line, file, mention: true })),
  ];
}

/** The words of a line up to what the shell takes, such as a pipe; quoted ones may have spaces. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [word, double, single] of line.matchAll(/"([^"]*)"|'([^']*)'|\S+/g)) {
    if (/^(?:[|<>&;#]|\d?>)/.test(word)) break;
    words.push(double ?? single ?? word);
  }
  return words;
}

const AROUND = { ...processSurroundings(), end: () => {}, warn: () => {} };

/** The commands that these words may mean, which do nothing. */
async function grammar(words: readonly string[]): Promise<Command> {
  const program = new Command('notices').option('--json').exitOverride();
  program.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  const silent = (command: Command) => {
    command.copyInheritedSettings(program);
    for (const below of command.commands) silent(below);
    if (command.commands.length === 0) command.action(() => {});
  };
  for (const command of await loadCommands(words, AROUND)) {
    silent(command);
    program.addCommand(command);
  }
  return program;
}

/** What commander says of a sentence that only names a command: something is left out. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
  'commander.help',
  'commander.invalidArgument',
]);

/** Why a line cannot be typed; undefined where it can. */
async function problemOf({ line, mention }: Printed): Promise<string | undefined> {
  const words = wordsOf(line);
  const program = await grammar(words);
  try {
    await program.parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    return mention && LEFT_OUT.has(error.code) ? undefined : error.message;
  }
}

async function problemsOf(printed: readonly Printed[]): Promise<string[]> {
  const problems: string[] = [];
  for (const one of printed) {
    const problem = await problemOf(one);
    if (problem !== undefined) problems.push(`${one.file}: notices ${one.line}: ${problem}`);
  }
  return problems;
}

describe('every command that is printed can be typed', () => {
  it('in messages, remedies, help and comments', async () => {
    const printed = ['src', 'workers'].flatMap((folder) => filesOf(folder, '.ts')).flatMap(inCode);
    expect(printed.filter(({ mention }) => !mention).length).toBeGreaterThan(60);
    expect(await problemsOf(printed)).toEqual([]);
  }, 60_000);

  it('in the alert rules', async () => {
    const printed = inCode('deploy/prometheus/alerts.yml');
    expect(printed.length).toBeGreaterThan(5);
    expect(await problemsOf(printed)).toEqual([]);
  });

  it('in documents', async () => {
    const files = ['README.md', 'SECURITY.md', ...filesOf('docs', '.md')];
    const printed = files.flatMap(inDocument);
    expect(printed.filter(({ mention }) => !mention).length).toBeGreaterThan(100);
    expect(await problemsOf(printed)).toEqual([]);
  }, 60_000);

  it.each([
    ['an unknown command', 'status2', "error: unknown command 'status2'"],
    ['an unknown flag', 'status --no-such', "error: unknown option '--no-such'"],
    ['too many words', 'status now', 'error: too many arguments'],
    ['a value that is not valid', 'batches --limit many', 'error: option'],
  ])('%s is found', async (_, line, problem) => {
    expect(await problemOf({ line, file: '', mention: false })).toContain(problem);
  });
});

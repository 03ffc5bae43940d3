import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { describeFailure, exitCodeOf, InputError, NoticeQueueError } from '../contracts/errors.ts';
import { VERSION } from '../contracts/version.ts';
import { loadCommands } from './commands.ts';
import {
  UsageError,
  processSurroundings,
  type CommandContext,
  type Output,
  type Surroundings,
} from './command-context.ts';
import { writeJsonLine, writeText } from './output.ts';

/** What each exit code means. */
export const EXIT_CODES = {
  0: 'success',
  1: 'the command failed, or what it checks for is not the case',
  2: 'wrong usage, input or configuration; nothing was done',
  3: 'Redis is not available, or refused the command; what was queued stays queued',
} as const;

const EPILOGUE = `
Exit codes:
${Object.entries(EXIT_CODES)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')}

Configuration is read from the environment: see .env.example and "notices config".`;

/** Runs one command line. @returns the exit code; errors are written to standard error without stack traces */
export async function runCli(
  args: readonly string[],
  surroundings: Surroundings = processSurroundings(),
): Promise<number> {
  const { stdout, stderr } = surroundings;
  const json = args.includes('--json');
  let exitCode = 0;
  const context: CommandContext = {
    ...surroundings,
    warn: (message) => {
      if (json) void writeJsonLine(stderr, { warning: { message } });
      else writeText(stderr, `warning: ${message}\n`);
    },
    end: (code) => {
      exitCode = code;
    },
  };
  const program = new Command('notices')
    .description('Enqueues notices, runs workers and shows the state of the queue.')
    .version(VERSION)
    .option('--json', 'write results and errors as JSON')
    .addHelpText('afterAll', EPILOGUE)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => writeText(stdout, text),
      // With --json, standard error has lines of JSON only.
      writeErr: (text) => (json ? undefined : writeText(stderr, text)),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      // With --json, wrong usage is reported below, like every other error.
      ...(json ? { outputError: () => {} } : {}),
    })
    .configureHelp({ showGlobalOptions: true });

  for (const command of await loadCommands(args, context)) {
    program.addCommand(inherit(program, command));
  }

  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const isBare = error.code === 'commander.help';
      const usage = isBare ? 'expected a command' : error.message.replace(/^error: /, '');
      if (json) report(stderr, new UsageError(usage), json);
      return 2;
    }
    const shown = explainMissing(error, args);
    report(stderr, shown, json);
    return exitCode || (shown instanceof UsageError ? 2 : exitCodeOf(shown));
  }
}

/** An application that only sends may leave out what only workers and the ops server need: says what to install. */
function explainMissing(error: unknown, args: readonly string[]): unknown {
  if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_MODULE_NOT_FOUND') return error;
  const name = /^Cannot find package '([^']+)'/.exec((error as Error).message)?.[1];
  if (name === undefined) return error;
  const require = createRequire(import.meta.url);
  const { optionalDependencies, peerDependencies } = require('notice-queue/package.json') as Record<
    `${'optional' | 'peer'}Dependencies`,
    Readonly<Record<string, string>>
  >;
  const isServer = args.includes('ops') || Object.hasOwn(peerDependencies, name);
  const needed = { ...optionalDependencies, ...(isServer ? peerDependencies : {}) };
  const isMissing = (one: string) =>
    !(require.resolve.paths(one) ?? []).some((folder) => existsSync(path.join(folder, one)));
  const packages = Object.entries(needed)
    .filter(([one]) => isMissing(one))
    .map(([one, range]) => `${one}@${range}`);
  return new UsageError(
    `this command needs packages that are not installed: npm install ${packages.join(' ')}`,
  );
}

function widthOf({ isTTY, columns = 80 }: Output): number {
  return isTTY === true ? columns : 80;
}

/** Copies the settings of the program to a command and its subcommands. */
function inherit(program: Command, command: Command): Command {
  for (const below of command.commands) inherit(program, below);
  return command.copyInheritedSettings(program);
}

function report(stderr: Output, error: unknown, json: boolean): void {
  const text = error instanceof UsageError ? `USAGE: ${error.message}` : describeFailure(error);
  if (json) void writeJsonLine(stderr, { error: asJson(error) });
  else writeText(stderr, `${text}\n`);
}

function asJson(error: unknown): object {
  if (error instanceof UsageError) return { code: 'USAGE', message: error.message };
  if (!(error instanceof NoticeQueueError)) {
    return { code: 'DEFECT', message: describeFailure(error) };
  }
  const { code, message } = error;
  return { code, message, ...(error instanceof InputError ? { issues: error.issues } : {}) };
}

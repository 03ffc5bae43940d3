import { Writable } from 'node:stream';
import { UsageError, type CommandContext } from './command-context.ts';
import { terminalText } from '../format/format.ts';
import { writeText } from './output.ts';

/**
 * Asks the user on the terminal.
 *
 * @param yes whether the command line already contains the answer
 * @throws UsageError without a terminal
 */
async function confirm(
  { stdin, stderr }: Pick<CommandContext, 'stdin' | 'stderr'>,
  question: string,
  yes: boolean,
): Promise<boolean> {
  if (yes) return true;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal to ask on: add --yes to confirm.`);
  }
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    // Ctrl-C and Ctrl-D close the terminal without an answer.
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    const answer = await Promise.race([
      terminal.question(`${terminalText(question)} [y/N] `),
      closed,
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** The same; where the user declines, it says so, and the command exits with 1. */
export async function agreed(
  context: Pick<CommandContext, 'stdin' | 'stderr' | 'end'>,
  question: string,
  yes: boolean | undefined,
): Promise<boolean> {
  if (await confirm(context, question, yes === true)) return true;
  writeText(context.stderr, 'Nothing was done.\n');
  context.end(1);
  return false;
}

/** Asks for a secret on the terminal, which does not show it. @returns '' where the user gives none */
export async function askSecret(
  { stdin, stderr }: Pick<CommandContext, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const nowhere = new Writable({ write: (_typed, _encoding, done) => done() });
  // It switches the terminal's own echo off; what it would show instead is written nowhere.
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    writeText(stderr, `${question} `);
    return await Promise.race([terminal.question(''), closed]);
  } finally {
    terminal.close();
    writeText(stderr, '\n');
  }
}

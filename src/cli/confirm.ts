import type { ReadLineOptions } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError, type CommandContext } from './command-context.ts';
import { terminalText } from '../format/format.ts';
import { writeText } from './output.ts';

/** What the user types on the terminal; '' where Ctrl-C or Ctrl-D close it. @param ask writes the question */
async function typed(options: ReadLineOptions, prompt: string, ask = () => {}): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface(options);
  try {
    const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    ask();
    return await Promise.race([terminal.question(prompt), closed]);
  } finally {
    terminal.close();
  }
}

/**
 * Asks the user on the terminal. Where the user declines, it says so, and the command exits with 1.
 *
 * @param yes whether the command line already contains the answer
 * @throws UsageError without a terminal
 */
export async function agreed(
  { stdin, stderr, end }: Pick<CommandContext, 'stdin' | 'stderr' | 'end'>,
  question: string,
  yes = false,
): Promise<boolean> {
  if (yes) return true;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal to ask on: add --yes to confirm.`);
  }
  const terminal = { input: stdin, output: stderr };
  const answer = await typed(terminal, `${terminalText(question)} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  writeText(stderr, 'Nothing was done.\n');
  end(1);
  return false;
}

/** Asks for a secret on the terminal, which does not show it. @returns '' where the user gives none */
export async function askSecret(
  { stdin, stderr }: Pick<CommandContext, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  const nowhere = new Writable({ write: (_typed, _encoding, done) => done() });
  // It switches the terminal's own echo off; what it would show instead is written nowhere.
  const terminal = { input: stdin, output: nowhere, terminal: true };
  try {
    return await typed(terminal, '', () => writeText(stderr, `${question} `));
  } finally {
    writeText(stderr, '\n');
  }
}

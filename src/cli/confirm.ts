import { createInterface } from 'node:readline/promises';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/**
 * Asks a person on the terminal.
 *
 * @param yes the answer was given on the command line
 * @throws UsageError where there is no terminal to ask on
 */
export async function confirm(
  { stdin, stderr }: Pick<CommandContext, 'stdin' | 'stderr'>,
  question: string,
  yes: boolean,
): Promise<boolean> {
  if (yes) return true;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal to ask on: give --yes`);
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    // Ctrl-C and Ctrl-D end the terminal without an answer.
    const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

import type { Command } from 'commander';
import type { CommandContext, Output } from './command-context.ts';
import { countOf, terminalLine, terminalText } from '../format/format.ts';

/** Writes text of any content. */
export function writeText(output: Pick<Output, 'write'>, text: string): void {
  output.write(terminalText(text));
}

/** Writes lines, each as one. */
export function writeLines(output: Pick<Output, 'write'>, lines: readonly string[]): void {
  output.write(`${lines.map(terminalLine).join('\n')}\n`);
}

export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Writes a result to standard output: with `--json` one JSON value, else lines of text. */
export function print(
  { stdout }: Pick<CommandContext, 'stdout'>,
  command: Command,
  value: unknown,
  lines: () => readonly string[],
): void {
  if (wantsJson(command)) writeText(stdout, `${JSON.stringify(value, null, 2)}\n`);
  else writeLines(stdout, lines());
}

/** Writes one JSON value on a line of its own. @returns as {@link writeOut} does */
export function writeJsonLine(output: Output, value: object): Promise<boolean> {
  return writeAll(output, terminalText(`${JSON.stringify(value)}\n`));
}

/**
 * Writes data as it is, except to a terminal, and waits until it was consumed, so that a slow reader slows the
 * writer down.
 *
 * @returns false when the reader has closed the stream
 */
export function writeOut(output: Output, text: string): Promise<boolean> {
  return writeAll(output, output.isTTY === true ? terminalText(text) : text);
}

/** The same for a screen whose lines are safe already, and which the program itself controls. */
export function writeAll(output: Output, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    output.write(text, (error) => resolve(error === null || error === undefined));
  });
}

/** Says on standard error how many contacts, or rows, were written as CSV. */
export function saysExported(
  { stderr }: Pick<CommandContext, 'stderr'>,
  contacts: number,
  what = 'contact',
): void {
  writeText(
    stderr,
    contacts === 0 ? `No ${what} matches.\n` : `Exported ${countOf(contacts, what)}.\n`,
  );
}

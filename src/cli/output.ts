import type { Command } from 'commander';
import type { CommandContext, Output } from './command-context.ts';

/** Whether results are written as JSON. */
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
  const text = wantsJson(command) ? JSON.stringify(value, null, 2) : lines().join('\n');
  stdout.write(`${text}\n`);
}

/** Writes one JSON value on a line of its own. */
export function writeJsonLine(output: Output, value: object): void {
  output.write(`${JSON.stringify(value)}\n`);
}

/**
 * Writes and waits until the text was consumed, so that a slow reader slows the writer down.
 *
 * @returns false when the reader has closed the stream
 */
export function writeOut(output: Output, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    output.write(text, (error) => resolve(error === null || error === undefined));
  });
}

/** Aligns the columns of a table. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

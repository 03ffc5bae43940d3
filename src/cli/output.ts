import type { Command } from 'commander';
import type { CommandContext, Output } from './command-context.ts';

/** Whether results are to be written as JSON. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Writes a result: as one JSON value, or as lines for a person. */
export function print(
  { stdout }: Pick<CommandContext, 'stdout'>,
  command: Command,
  value: unknown,
  lines: () => readonly string[],
): void {
  const text = wantsJson(command) ? JSON.stringify(value, null, 2) : lines().join('\n');
  stdout.write(`${text}\n`);
}

/**
 * Writes and waits until it was taken, so that a slow reader slows the writer.
 *
 * @returns false when nobody reads it any more
 */
export function writeOut(output: Output, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    output.write(text, (error) => resolve(error === null || error === undefined));
  });
}

/** Columns of a table, padded. */
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

/** A duration as people say it: `340 ms`, `12 s`, `4 min`, `3 h`, `2 d`. */
export function duration(ms: number): string {
  const steps: readonly (readonly [number, string])[] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  const step = steps.find(([size]) => ms >= size * 2);
  return step === undefined ? `${Math.round(ms)} ms` : `${Math.round(ms / step[0])} ${step[1]}`;
}

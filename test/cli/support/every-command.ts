import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { loadCommands } from '../../../src/cli/commands.ts';

/** What surrounds a command that is only defined. */
export const nothingAround = () => ({
  env: {},
  end: () => {},
  warn: () => {},
  signals: new EventEmitter(),
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
});

/** All commands, as they are defined. */
export async function everyCommand(): Promise<Command[]> {
  const all = await Promise.all(
    Object.keys(COMMANDS).map(async (name) => {
      const commands = await loadCommands([name], nothingAround());
      return commands.filter((command) => command.name() === name);
    }),
  );
  return all.flat();
}

#!/usr/bin/env node
import { runCli } from './run-cli.ts';

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // Whoever reads our output may have had enough of it: `notices config | head -1`.
  if (code === 'EPIPE') return;
  process.stderr.write(`standard output cannot be written (${code ?? 'unknown reason'})\n`);
  process.exit(1);
});

const exitCode = await runCli(process.argv.slice(2));

// A connection that Redis does not let go of would keep the process for seconds more.
await Promise.all([written(process.stdout), written(process.stderr)]);
process.exit(exitCode);

/** Resolves when what was written before has left the process, or cannot. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}

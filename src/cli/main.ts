#!/usr/bin/env node
import { endOnUncaughtErrors } from '../../workers/process/stop-signals.ts';
import { writeAll } from './output.ts';
import { runCli } from './run-cli.ts';

endOnUncaughtErrors();

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // The reader has closed the pipe: `notices config | head -1`.
  if (code === 'EPIPE') return;
  process.stderr.write(`cannot write to standard output (${code ?? 'unknown reason'})\n`);
  process.exit(1);
});

// Progress and warnings are worth less than what the command does: it goes on without a reader of them.
process.stderr.on('error', () => {});

const exitCode = await runCli(process.argv.slice(2));

// A connection that Redis does not close would keep the process running for seconds.
// Nor may a reader of its output that does not read.
setTimeout(() => process.exit(exitCode), 5_000).unref();
// Nothing more is written once all earlier output has been, or failed to be.
await Promise.all([writeAll(process.stdout, ''), writeAll(process.stderr, '')]);
process.exit(exitCode);

/// <reference types="node" />
// Loaded into a worker before anything else (NODE_OPTIONS=--import): at SIGUSR2 it blocks the event
// loop for BLOCK_MS milliseconds, and says on standard output when that is over.
const MS = Number(process.env['BLOCK_MS']);

process.on('SIGUSR2', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MS);
  process.stdout.write(`${JSON.stringify({ event: 'unblocked' })}\n`);
});

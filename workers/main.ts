import { runProgram } from './process/stop-signals.ts';
import { runWorkerProcess } from './process/worker-process.ts';

// A supervisor passes the index of the process.
const [, , index] = process.argv;

await runProgram(() =>
  runWorkerProcess(undefined, index === undefined ? undefined : Number(index)),
);

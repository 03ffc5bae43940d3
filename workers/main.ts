import { describeFailure, exitCodeOf } from '../src/contracts/errors.ts';
import { endOnUncaughtErrors } from './process/stop-signals.ts';
import { runWorkerProcess } from './process/worker-process.ts';

// A supervisor passes the index of the process.
const [, , index] = process.argv;

endOnUncaughtErrors();
try {
  process.exitCode = await runWorkerProcess(
    undefined,
    index === undefined ? undefined : Number(index),
  );
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
process.exit();

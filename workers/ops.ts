import { describeFailure, exitCodeOf } from '../src/contracts/errors.ts';
import { runOpsProcess } from './process/ops-process.ts';
import { endOnUncaughtErrors } from './process/stop-signals.ts';

endOnUncaughtErrors();
try {
  process.exitCode = await runOpsProcess();
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
process.exit();

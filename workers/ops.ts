import { describeFailure, exitCodeOf } from '../src/errors.ts';
import { runOpsProcess } from './ops-process.ts';

try {
  process.exitCode = await runOpsProcess();
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
process.exit();

import { describeFailure, exitCodeOf } from '../src/errors.ts';
import { runWorkerProcess } from './worker-process.ts';

try {
  process.exitCode = await runWorkerProcess();
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = exitCodeOf(error);
}
process.exit();

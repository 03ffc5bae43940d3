import { Command } from 'commander';
import { superviseWorkers } from '../../../workers/supervisor.ts';
import { runWorkerProcess } from '../../../workers/worker-process.ts';
import { loadConfig } from '../../config/config.ts';
import { createLogger } from '../../logger.ts';
import { wholeNumber } from '../arguments.ts';

/** `notices worker`: runs until it is told to stop; logs JSON lines on standard output. */
export function workerCommand(end: (code: number) => void): Command {
  return new Command('worker')
    .description('take notices from the queue and send them, until SIGTERM or SIGINT')
    .option('--processes <n>', 'worker processes (default: PROCESSES)', wholeNumber(1, 64))
    .action(async (options: { processes?: number }) => {
      const config = loadConfig();
      const processes = options.processes ?? config.worker.processes;
      if (processes === 1) {
        end(await runWorkerProcess(config));
        return;
      }
      const logger = createLogger(config.logLevel);
      end(await superviseWorkers(processes, config.worker.shutdownTimeoutMs, logger));
    });
}

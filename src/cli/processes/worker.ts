import { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { readConfig } from '../open-queue.ts';

/** `notices worker`: runs until SIGTERM or SIGINT; logs JSON lines to standard output. */
export function workerCommand(context: CommandContext): Command {
  return new Command('worker')
    .option(
      '--processes <n>',
      'number of worker processes (default: PROCESSES)',
      wholeNumber(1, 64),
    )
    .action(async (options: { processes?: number }) => {
      const config = await readConfig(context, { unused: ['ops'] });
      const processes = options.processes ?? config.worker.processes;
      // Imported here because the other commands start faster without it.
      if (processes === 1) {
        const { runWorkerProcess } = await import('../../../workers/process/worker-process.ts');
        context.end(await runWorkerProcess(config));
        return;
      }
      const { superviseWorkers } = await import('../../../workers/process/supervisor.ts');
      const { createLogger } = await import('../../logging/logger.ts');
      const logger = createLogger(config);
      const { shutdownTimeoutMs, health } = config.worker;
      context.end(await superviseWorkers(processes, shutdownTimeoutMs, logger, health));
    });
}

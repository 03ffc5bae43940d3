import { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { readConfig } from '../open-queue.ts';

/** `notices worker`: runs until SIGTERM or SIGINT; logs JSON lines to standard output. */
export function workerCommand(context: CommandContext): Command {
  return new Command('worker')
    .description('Runs a worker that sends notices, until SIGTERM or SIGINT.')
    .action(async () => {
      const config = await readConfig(
        context,
        'service',
        'worker',
        'events',
        'restore',
        'redisWatch',
      );
      // Imported here because the other commands start faster without it.
      const { runWorkerProcess } = await import('../../../workers/process/worker-process.ts');
      context.end(await runWorkerProcess(config));
    });
}

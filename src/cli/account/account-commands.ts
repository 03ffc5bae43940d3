import { Command } from 'commander';
import { status } from '../../ops/operations/account.ts';
import { setRateLimit, showRateLimit } from '../../ops/operations/hold.ts';
import type { Status } from '../../ops/status.ts';
import type { CommandContext } from '../command-context.ts';
import { chosenCommand, operationCommand } from '../operation-command.ts';
import { runOperation } from '../run-operation.ts';

/** `notices rate-limit`: shows the rate limit; with a value it sets it for all workers at once. */
export const rateLimitCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    new Command('rate-limit').description(`${showRateLimit.summary} ${setRateLimit.summary}`),
    ['[rate-limit]', 'send requests per second of all workers, "off" or "default"'],
    [showRateLimit, setRateLimit],
    ([rateLimit]) =>
      rateLimit === undefined
        ? { row: showRateLimit }
        : { row: setRateLimit, typed: { rateLimit } },
  );

/** `notices status`: needs no credentials; shows the token only when they are set. */
export function statusCommand(context: CommandContext): Command {
  const command = operationCommand(context, status);
  command.option(
    '--worker <host>',
    'exit with 1 unless a worker runs on that host (a health check)',
  );
  return command.action(async ({ worker }: { worker?: string }) => {
    const shown = (await runOperation(context, command, status, {})) as Status;
    if (worker !== undefined && !shown.workers.some(({ host }) => host === worker)) context.end(1);
  });
}

import { Command } from 'commander';
import { status } from '../../ops/operations/account.ts';
import {
  liftHold,
  placeHold,
  setRateLimit,
  showHold,
  showRateLimit,
} from '../../ops/operations/hold.ts';
import { parkRestored, showRestored } from '../../ops/operations/restored.ts';
import type { Status } from '../../ops/status.ts';
import type { CommandContext } from '../command-context.ts';
import { chosenCommand, operationCommand } from '../operation-command.ts';
import { runOperation } from '../run-operation.ts';

/** `notices hold`: shows the active hold; `place` and `lift` change it manually. */
export const holdCommand = (context: CommandContext): Command =>
  new Command('hold')
    .description('Shows the hold of the account; places or lifts one, also of one template.')
    .addCommand(operationCommand(context, showHold), { isDefault: true })
    .addCommand(operationCommand(context, placeHold))
    .addCommand(operationCommand(context, liftHold));

/** `notices rate-limit`: shows the rate limit; with a value it sets it for all workers at once. */
export const rateLimitCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'rate-limit',
    ['[rate-limit]', 'send requests per second of all workers, "off" or "default"'],
    [showRateLimit, setRateLimit],
    ([rateLimit]) =>
      rateLimit === undefined
        ? { row: showRateLimit }
        : { row: setRateLimit, typed: { rateLimit } },
  );

/** `notices restored`: what might be sent again from an old copy; `park` sets notices aside. */
export const restoredCommand = (context: CommandContext): Command =>
  new Command('restored')
    .description('Shows what an old copy of Redis might send again; sets it aside.')
    .addCommand(operationCommand(context, showRestored), { isDefault: true })
    .addCommand(operationCommand(context, parkRestored));

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

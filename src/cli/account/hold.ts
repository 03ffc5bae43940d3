import { Command } from 'commander';
import { liftHold, placeHold, showHold } from '../../ops/operations/hold.ts';
import { setRateLimit, showRateLimit } from '../../ops/operations/rate-limit.ts';
import type { CommandContext } from '../command-context.ts';
import { operationCommand, showOrSet } from '../operation-command.ts';

/** `notices hold`: shows the active hold; `place` and `lift` change it manually. */
export const holdCommand = (context: CommandContext): Command =>
  new Command('hold')
    .addCommand(operationCommand(context, showHold), { isDefault: true })
    .addCommand(operationCommand(context, placeHold))
    .addCommand(operationCommand(context, liftHold));

/** `notices rate-limit`: shows the rate limit; with a value it sets it for all workers at once. */
export const rateLimitCommand = (context: CommandContext): Command =>
  showOrSet(context, showRateLimit, setRateLimit);

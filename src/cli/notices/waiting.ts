import type { Command } from 'commander';
import { listWaiting } from '../../ops/operations/waiting.ts';
import type { CommandContext } from '../command-context.ts';
import { operationCommand } from '../operation-command.ts';

/** `notices waiting`: what waits, by template; a preview of `notices cancel` with the same flags. */
export const waitingCommand = (context: CommandContext): Command =>
  operationCommand(context, listWaiting);

import type { Command } from 'commander';
import { batchFailures, redriveBatch } from '../../ops/operations/batch-failures.ts';
import { batches, changeBatchRate, pauseBatch, resumeBatch } from '../../ops/operations/batches.ts';
import { deleteFailed, failed, redriveFailed } from '../../ops/operations/failed-notices.ts';
import type { CommandContext } from '../command-context.ts';
import { batchOrNotices, noticesCommand, operationCommand } from '../operation-command.ts';

/** `notices batches`: lists the batches, newest first. */
export const batchesCommand = (context: CommandContext): Command =>
  operationCommand(context, batches);

/** `notices pause ID` and `notices resume ID`: exit with 1 where the phase does not allow it. */
export const pauseCommand = (context: CommandContext): Command =>
  operationCommand(context, pauseBatch);
export const resumeCommand = (context: CommandContext): Command =>
  operationCommand(context, resumeBatch);

/** `notices rate ID N`: exits with 1 where nothing waits. */
export const rateCommand = (context: CommandContext): Command =>
  operationCommand(context, changeBatchRate);

/** `notices failures [ID]`: of a batch or of single notices; with `--csv` the contacts themselves. */
export const failuresCommand = (context: CommandContext): Command =>
  batchOrNotices(context, 'failures', batchFailures, failed, false);

/** `notices redrive`: contacts of a batch, or single notices. */
export const redriveCommand = (context: CommandContext): Command =>
  batchOrNotices(context, 'redrive', redriveBatch, redriveFailed, true);

/** `notices delete`: deletes rejected single notices. */
export const deleteCommand = (context: CommandContext): Command =>
  noticesCommand(context, deleteFailed);

import { Command } from 'commander';
import type { BatchControl } from '../../ops/batch-actions.ts';
import { batchId, whyOption } from '../arguments.ts';
import { type CommandContext, currentUser } from '../command-context.ts';
import { noSuchBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print } from '../output.ts';

/** The message on success, after the id. */
const DONE: Readonly<Record<BatchControl, string>> = {
  pause: 'is paused. Requests in flight finish; no new ones are started.',
  resume: 'is resumed.',
  cancel: 'is cancelled. Requests in flight finish; its pending contacts are never sent.',
};

/** `notices pause ID` and `notices resume ID`: exit with 1 where the phase does not allow it. */
const controlCommand = (verb: BatchControl) => (context: CommandContext) =>
  new Command(verb)
    .argument('<id>', 'id of the batch', batchId)
    .addOption(whyOption())
    .action((id: string, { why }: { why?: string }, command: Command) =>
      withLedger(context, (open) => control(context, open, id, verb, command, why)),
    );

export const pauseCommand = controlCommand('pause');
export const resumeCommand = controlCommand('resume');

/** Carries an action on a batch out and prints its result. */
export async function control(
  context: CommandContext,
  open: OpenLedger,
  id: string,
  verb: BatchControl,
  command: Command,
  why = '',
): Promise<void> {
  const { controlBatch, WHY_NOT_CONTROLLED } = await import('../../ops/batch-actions.ts');
  const answer = await controlBatch(open, id, verb, { who: currentUser(), why });
  if (answer === undefined) throw noSuchBatch(id);
  const { done, phase } = answer;
  print(context, command, { batch: id, verb, done, phase }, () => [
    `Batch ${id} ${done ? DONE[verb] : `${WHY_NOT_CONTROLLED[phase]}; nothing was done.`}`,
  ]);
  if (!done) context.end(1);
}

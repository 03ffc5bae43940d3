import { Command } from 'commander';
import { controlBatch, WHY_NOT_CONTROLLED, type BatchControl } from '../../ops/batch-actions.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { batchId } from '../arguments.ts';
import { type CommandContext, currentUser } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { noSuchBatch, readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print } from '../output.ts';

/** The message on success, after the id. */
const DONE: Readonly<Record<BatchControl, string>> = {
  pause: 'is paused. Requests in flight finish; no new ones are started.',
  resume: 'is resumed.',
  cancel: 'is cancelled. Requests in flight finish; its pending contacts are never sent.',
};

/** `notices pause ID`: exits with 1 where the phase does not allow it. */
export function pauseCommand(context: CommandContext): Command {
  return new Command('pause')
    .description('stop sending a batch; requests in flight finish')
    .argument('<id>', 'id of the batch', batchId)
    .action((id: string, _flags: object, command: Command) =>
      withLedger(context, (open) => control(context, open, id, 'pause', command)),
    );
}

/** `notices resume ID`: exits with 1 where the phase does not allow it. */
export function resumeCommand(context: CommandContext): Command {
  return new Command('resume')
    .description('resume a paused batch')
    .argument('<id>', 'id of the batch', batchId)
    .action((id: string, _flags: object, command: Command) =>
      withLedger(context, (open) => control(context, open, id, 'resume', command)),
    );
}

/** `notices cancel ID`: exits with 1 where the phase does not allow it, or the user declined. */
export function cancelCommand(context: CommandContext): Command {
  return new Command('cancel')
    .description('end a batch permanently: pending contacts are never sent')
    .argument('<id>', 'id of the batch', batchId)
    .option('--yes', 'do not ask for confirmation')
    .action((id: string, { yes }: { yes?: boolean }, command: Command) =>
      withLedger(context, async (open) => {
        const { counts, phase } = await readBatch(open.ledger, id);
        if (phase !== 'finished' && phase !== 'cancelled') {
          const question = `Cancel batch ${id}? ${formatCount(counts.pending)} of ${countOf(counts.total, 'contact')} would never be sent.`;
          if (!(await confirm(context, question, yes === true))) {
            context.stderr.write('Nothing was done.\n');
            context.end(1);
            return;
          }
        }
        await control(context, open, id, 'cancel', command);
      }),
    );
}

async function control(
  context: CommandContext,
  open: OpenLedger,
  id: string,
  verb: BatchControl,
  command: Command,
): Promise<void> {
  const answer = await controlBatch(open, id, verb, { who: currentUser(), why: '' });
  if (answer === undefined) throw noSuchBatch(id);
  const { done, phase } = answer;
  print(context, command, { batch: id, verb, done, phase }, () => [
    `Batch ${id} ${done ? DONE[verb] : `${WHY_NOT_CONTROLLED[phase]}; nothing was done.`}`,
  ]);
  if (!done) context.end(1);
}

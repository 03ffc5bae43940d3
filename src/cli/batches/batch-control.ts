import { Command } from 'commander';
import { controlBatch, WHY_NOT_CONTROLLED, type BatchControl } from '../../ops/batch-actions.ts';
import type { CommandContext } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { batchId, noSuchBatch, readBatch, withLedger, type OpenLedger } from '../open-ledger.ts';
import { print } from '../output.ts';
import { count } from '../progress.ts';
import { whoAmI } from '../who.ts';

/** What is true once it was done. */
const DONE: Readonly<Record<BatchControl, string>> = {
  pause: 'is paused: what is being sent is let finish, and nothing more is begun',
  resume: 'goes on',
  cancel: 'is cancelled: what is being sent is let finish, and nothing more is ever begun',
};

/** `notices pause ID`: exits with 1 where the phase does not allow it. */
export function pauseCommand(context: CommandContext): Command {
  return new Command('pause')
    .description('stop sending a batch, from the next send on')
    .argument('<id>', 'id of the batch', batchId)
    .action((id: string, _flags: object, command: Command) =>
      withLedger(context, (open) => steer(context, open, id, 'pause', command)),
    );
}

/** `notices resume ID`: exits with 1 where the phase does not allow it. */
export function resumeCommand(context: CommandContext): Command {
  return new Command('resume')
    .description('go on with a batch that is paused')
    .argument('<id>', 'id of the batch', batchId)
    .action((id: string, _flags: object, command: Command) =>
      withLedger(context, (open) => steer(context, open, id, 'resume', command)),
    );
}

/** `notices cancel ID`: exits with 1 where the phase does not allow it, or the person said no. */
export function cancelCommand(context: CommandContext): Command {
  return new Command('cancel')
    .description('end a batch for good: what is pending is never sent')
    .argument('<id>', 'id of the batch', batchId)
    .option('--yes', 'do not ask')
    .action((id: string, { yes }: { yes?: boolean }, command: Command) =>
      withLedger(context, async (open) => {
        const { counts, phase } = await readBatch(open.ledger, id);
        if (phase !== 'finished' && phase !== 'cancelled') {
          const question = `Cancel ${id}? ${count(counts.pending)} of ${count(counts.total)} contacts would never be sent.`;
          if (!(await confirm(context, question, yes === true))) {
            context.stderr.write('nothing was done\n');
            context.end(1);
            return;
          }
        }
        await steer(context, open, id, 'cancel', command);
      }),
    );
}

async function steer(
  context: CommandContext,
  open: OpenLedger,
  id: string,
  verb: BatchControl,
  command: Command,
): Promise<void> {
  const answer = await controlBatch(open, id, verb, { who: whoAmI(), why: '' });
  if (answer === undefined) throw noSuchBatch(id);
  const { done, phase } = answer;
  print(context, command, { batch: id, verb, done, phase }, () => [
    done ? `${id} ${DONE[verb]}` : `${id} ${WHY_NOT_CONTROLLED[phase]}; nothing was done`,
  ]);
  if (!done) context.end(1);
}

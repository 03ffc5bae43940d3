import { Command } from 'commander';
import { groupFailures } from '../../batch/failures/failure-groups.ts';
import { describeBatch, viewBatch } from './batch-view.ts';
import { followBatch } from './follow-batch.ts';
import type { CommandContext } from '../command-context.ts';
import { batchId, withLedger } from '../open-ledger.ts';
import { print, wantsJson } from '../output.ts';
import { untilStopped } from '../until-stopped.ts';

/** `notices batch ID`: where it stands, why it stands still, and what failed. */
export function batchCommand(context: CommandContext): Command {
  return new Command('batch')
    .description('where a batch stands, why it stands still, and what failed')
    .argument('<id>', 'id of the batch', batchId)
    .option('--watch', 'follow it until all is settled; Ctrl-C ends the watching, not the batch')
    .action(async (id: string, { watch }: { watch?: boolean }, command: Command) => {
      await withLedger(context, async (open) => {
        const view =
          watch === true
            ? await untilStopped(context, (signal) =>
                followBatch(context, open, id, wantsJson(command), signal),
              )
            : await viewBatch(open, id);
        const groups = await groupFailures(open.ledger, view.batch);
        const result = { ...view, failures: groups };
        if (watch === true && wantsJson(command)) {
          context.stdout.write(`${JSON.stringify({ event: 'batch', ...result })}\n`);
          return;
        }
        print(context, command, result, () => describeBatch(view, groups, Date.now()));
      });
    });
}

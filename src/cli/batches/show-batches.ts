import { Command } from 'commander';
import { batchId } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print, wantsJson, writeJsonLine } from '../output.ts';

/** `notices batch ID`: state, progress and failures of one batch. */
export function batchCommand(context: CommandContext): Command {
  return new Command('batch')
    .argument('<id>', 'id of the batch', batchId)
    .option('--watch', 'show its progress until every contact is settled, or until Ctrl-C')
    .action(async (id: string, { watch }: { watch?: boolean }, command: Command) => {
      const [{ groupFailures }, { readBatchSnapshot }, { describeBatch }, { followBatch }] =
        await Promise.all([
          import('../../batch/failures/failures.ts'),
          import('../../ops/batch-snapshot.ts'),
          import('./batch-view.ts'),
          import('./follow-batch.ts'),
        ]);
      await withLedger(context, async (open) => {
        const json = wantsJson(command);
        const view =
          watch === true
            ? await untilStopped(context, (signal) =>
                followBatch(context, open, id, { json, signal, ofImport: false }),
              )
            : await readBatchSnapshot(open, id);
        const groups = await groupFailures(open.ledger, view.batch);
        const result = { ...view, failures: groups };
        if (watch === true && json)
          await writeJsonLine(context.stdout, { event: 'batch', ...result });
        else print(context, command, result, () => describeBatch(view, groups, Date.now()));
      });
    });
}

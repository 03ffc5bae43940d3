import type { Command } from 'commander';
import { batch } from '../../ops/operations/batches.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { operationCommand } from '../operation-command.ts';
import { wantsJson } from '../output.ts';
import { parsed, runOperation } from '../run-operation.ts';

/** `notices batch ID`: state, progress and failures of one batch. */
export function batchCommand(context: CommandContext): Command {
  const command = operationCommand(context, batch).option(
    '--watch',
    'show its progress until every contact is settled, or until Ctrl-C',
  );
  return command.action(async (id: string, { watch }: { watch?: boolean }) => {
    if (watch !== true) {
      await runOperation(context, command, batch, { id });
      return;
    }
    parsed(batch, { id });
    const { followBatch } = await import('./follow-batch.ts');
    await withLedger(context, async (open) => {
      const json = wantsJson(command);
      await untilStopped(context, (signal) =>
        followBatch(context, open, id, { json, signal, ofImport: false }),
      );
    });
  });
}

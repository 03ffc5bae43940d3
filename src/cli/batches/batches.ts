import { Command } from 'commander';
import { CONTACT_STATES } from '../../batch/ledger/batch-record.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { duration, print, table } from '../output.ts';
import { withLedger } from '../open-ledger.ts';
import { count } from '../progress.ts';

/** `notices batches`: the batches that are kept, the newest first. */
export function batchesCommand(context: CommandContext): Command {
  return new Command('batches')
    .description('the batches that are kept, the newest first')
    .option('--limit <n>', 'at most so many', wholeNumber(1, 10_000), 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const batches = await withLedger(context, ({ ledger }) => ledger.list(limit));
      print(context, command, batches, () =>
        batches.length === 0
          ? ['no batches; "notices import FILE --template CODE" begins one']
          : table([
              ['BATCH', 'PHASE', 'BEGUN', 'TEMPLATE', 'TOTAL', ...CONTACT_STATES],
              ...batches.map(({ id, phase, begunAt, templateCode, counts }) => [
                id,
                phase,
                `${duration(Math.max(0, Date.now() - begunAt))} ago`,
                templateCode,
                count(counts.total),
                ...CONTACT_STATES.map((state) => count(counts[state])),
              ]),
            ]),
      );
    });
}

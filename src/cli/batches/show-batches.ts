import { Command } from 'commander';
import type { BatchFilter, BatchFilterText } from '../../batch/ledger/batch-filter.ts';
import { BATCH_PHASES, CONTACT_STATES } from '../../batch/ledger/batch-record.ts';
import { InputError } from '../../contracts/errors.ts';
import { formatCount } from '../../format/format.ts';
import { writeTime } from '../../format/relative-time.ts';
import { batchId, wholeNumber } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { UsageError } from '../usage-error.ts';
import { table } from '../../format/table.ts';
import { print, wantsJson, writeJsonLine } from '../output.ts';

/** Flags of `notices batches`. */
interface BatchesFlags extends BatchFilterText {
  readonly limit: number;
}

/** `notices batches`: lists the batches, newest first. */
export function batchesCommand(context: CommandContext): Command {
  return new Command('batches')
    .option('--phase <phase>', `only in this phase: ${BATCH_PHASES.join(', ')}`)
    .option('--within <span>', 'only created within this time, such as 90s, 15m, 2h or 3d')
    .option('--since <time>', 'only created at this time or later: ISO 8601, UTC without a zone')
    .option('--before <time>', 'only created before this time')
    .option('--limit <n>', 'maximum number of batches', wholeNumber(1, 10_000), 50)
    .action(async ({ limit, ...flags }: BatchesFlags, command: Command) => {
      const { findBatches } = await import('../../batch/ledger/batch-filter.ts');
      const filter = await filterOf(flags);
      const now = Date.now();
      const { batches } = await withLedger(context, ({ ledger }) =>
        findBatches(ledger, filter, { limit, offset: 0 }),
      );
      print(context, command, batches, () =>
        batches.length === 0
          ? [
              Object.keys(flags).length > 0
                ? 'No batch matches.'
                : 'No batches. "notices import FILE --template CODE" creates one.',
            ]
          : table([
              ['BATCH', 'PHASE', 'STARTED', 'TEMPLATE', 'TOTAL', ...CONTACT_STATES],
              ...batches.map(({ id, phase, begunAt, templateCode, counts }) => [
                id,
                phase,
                writeTime(begunAt, now),
                templateCode,
                formatCount(counts.total),
                ...CONTACT_STATES.map((state) => formatCount(counts[state])),
              ]),
            ]),
      );
    });
}

/** @throws UsageError that names every invalid or contradicting flag */
async function filterOf(flags: BatchFilterText): Promise<BatchFilter> {
  const { readBatchFilter } = await import('../../batch/ledger/batch-filter.ts');
  try {
    return readBatchFilter(flags, Date.now());
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const problems = error.issues.map(({ field, problem }) => `--${field}: ${problem}`);
    throw new UsageError(problems.join('; '));
  }
}

/** `notices batch ID`: state, progress and failures of one batch. */
export function batchCommand(context: CommandContext): Command {
  return new Command('batch')
    .argument('<id>', 'id of the batch', batchId)
    .option('--watch', 'show its progress until every contact is settled, or until Ctrl-C')
    .action(async (id: string, { watch }: { watch?: boolean }, command: Command) => {
      const [{ groupFailures }, { describeBatch, viewBatch }, { followBatch }] = await Promise.all([
        import('../../batch/failures/failure-groups.ts'),
        import('./batch-view.ts'),
        import('./follow-batch.ts'),
      ]);
      await withLedger(context, async (open) => {
        const json = wantsJson(command);
        const view =
          watch === true
            ? await untilStopped(context, (signal) =>
                followBatch(context, open, id, { json, signal, unread: false }),
              )
            : await viewBatch(open, id);
        const groups = await groupFailures(open.ledger, view.batch);
        const result = { ...view, failures: groups };
        if (watch === true && json)
          await writeJsonLine(context.stdout, { event: 'batch', ...result });
        else print(context, command, result, () => describeBatch(view, groups, Date.now()));
      });
    });
}

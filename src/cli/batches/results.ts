import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import { batchResults, resultsOf } from '../../ops/operations/batch-results.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { currentUser, UsageError, type CommandContext } from '../command-context.ts';
import { operationCommand, typedOf } from '../operation-command.ts';
import { withLedger } from '../open-queue.ts';
import { saysExported, writeOut } from '../output.ts';
import { contextOf, runOperation } from '../run-operation.ts';
import { withReadingFlags, type ReadingFlags } from './import-flags.ts';

/** `notices results ID [FILE]`: what became of each row; with the list, after its own columns. */
export function resultsCommand(context: CommandContext): Command {
  const command = withReadingFlags(
    operationCommand(context, batchResults, 'results').argument(
      '[file]',
      'the list, a CSV file: writes its rows with their results, as CSV',
    ),
  );
  return command.action(async (id: string, file: string | undefined) => {
    if (file !== undefined) return writeJoined(context, id, file, command.opts<ReadingFlags>());
    const typed = { id, ...typedOf(batchResults, command.opts()) };
    await runOperation(context, command, batchResults, typed);
    return undefined;
  });
}

async function writeJoined(
  context: CommandContext,
  id: string,
  file: string,
  { delimiter = ',', encoding = 'utf-8' }: ReadingFlags,
): Promise<void> {
  const [{ readUtf8 }, { readRecords }, { writeResults }, { appendAudit }] = await Promise.all([
    import('../../batch/source/read-utf8.ts'),
    import('../../batch/source/read-csv.ts'),
    import('../../batch/failures/row-results.ts'),
    import('../../ops/audit.ts'),
  ]);
  await withLedger(context, async (open) => {
    const target = contextOf(open);
    const results = await resultsOf(target, id);
    const entry = { who: currentUser(), why: '', what: 'download', target: `batch ${id}` } as const;
    await appendAudit(target.redis, target.keys, { ...entry, as: 'results' });
    const bytes = createReadStream(file) as AsyncIterable<Buffer>;
    const records = readRecords(readUtf8(bytes, encoding), delimiter);
    const written = await writeResults(results, records, (text) => writeOut(context.stdout, text));
    saysExported(context, written, 'row');
    if (written !== results.rows) {
      throw new UsageError(
        `${file} has ${countOf(written, 'row')}, and the list of batch ${id} had ${formatCount(results.rows)}: is it the same file?`,
      );
    }
  });
}

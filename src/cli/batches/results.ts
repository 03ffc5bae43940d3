import type { Command } from 'commander';
import { batchResults, resultsOf } from '../../ops/operations/batch-results.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { currentUser, UsageError, type CommandContext } from '../command-context.ts';
import { operationCommand, typedOf } from '../operation-command.ts';
import { withLedger } from '../open-queue.ts';
import { saysExported, wantsJson, writeOut } from '../output.ts';
import { runOperation, type CommonFlags, type Typed } from '../run-operation.ts';
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
    const flags = command.opts<Flags>();
    const given: Typed = { ...flags, json: wantsJson(command) ? true : undefined };
    const others = file === undefined ? (['delimiter', 'encoding'] as const) : OF_ANSWER;
    const other = others.find((name) => given[name] !== undefined);
    if (other !== undefined) {
      const when = file === undefined ? 'without' : 'with';
      throw new UsageError(`--${other}: leave it out ${when} FILE`);
    }
    if (file !== undefined) return writeJoined(context, id, file, flags);
    const typed = { id, ...typedOf(batchResults, flags) };
    await runOperation(context, command, batchResults, typed);
    return undefined;
  });
}

/** Flags of the answer without a file. */
const OF_ANSWER = ['after', 'limit', 'csv', 'json'] as const;

interface Flags extends ReadingFlags, CommonFlags {}

async function writeJoined(
  context: CommandContext,
  id: string,
  file: string,
  { delimiter, encoding = 'utf-8', why = '' }: Flags,
): Promise<void> {
  const [{ readUtf8 }, { readRecords }, { openBytes }, { writeResults }, { appendAudit }] =
    await Promise.all([
      import('../../batch/source/read-utf8.ts'),
      import('../../batch/source/read-csv.ts'),
      import('../../batch/source/open-source.ts'),
      import('../../batch/failures/row-results.ts'),
      import('../../ops/audit.ts'),
    ]);
  const list = await openBytes(file);
  try {
    await withLedger(context, async (target) => {
      const results = await resultsOf(target, id);
      const entry = { what: 'download', target: `batch ${id}`, as: 'results' } as const;
      await appendAudit(target, { who: currentUser(), why }, entry);
      const records = readRecords(readUtf8(list.bytes(), encoding), delimiter, file);
      const written = await writeResults(results, records, (text) =>
        writeOut(context.stdout, text),
      );
      saysExported(context, written, 'row');
      if (written !== results.rows) {
        throw new UsageError(
          `${file} has ${countOf(written, 'row')}, and the list of batch ${id} had ${formatCount(results.rows)}: is it the same file?`,
        );
      }
    });
  } finally {
    await list.close();
  }
}

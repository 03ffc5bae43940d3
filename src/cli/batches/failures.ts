import { Command, Option } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import { exportFailures } from '../../batch/failures/export-failures.ts';
import { groupFailures } from '../../batch/failures/failure-groups.ts';
import { payloadKeys } from '../../batch/payload/payload-key.ts';
import { decodeContacts } from '../../batch/payload/payload.ts';
import { FAILED_STATES, type FailureFilter } from '../../batch/failures/select-failures.ts';
import { describeGroups } from './batch-view.ts';
import { countOf } from '../../format/format.ts';
import { batchId, UsageError } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print, wantsJson, writeOut } from '../output.ts';

interface FailuresFlags extends FailureFilter {
  csv?: boolean;
}

/** `notices failures ID`: a summary without phone numbers; with `--csv` the contacts themselves. */
export function failuresCommand(context: CommandContext): Command {
  return new Command('failures')
    .description('show the contacts of a batch that were not accepted, and why')
    .argument('<id>', 'id of the batch', batchId)
    .addOption(new Option('--state <state>', 'only contacts in this state').choices(FAILED_STATES))
    .option('--code <code>', 'only contacts with this code')
    .option(
      '--csv',
      'write the contacts as CSV, including phone numbers; the file can be imported again',
    )
    .action(async (id: string, { csv, state, code }: FailuresFlags, command: Command) => {
      if (csv === true && wantsJson(command)) {
        throw new UsageError('use either --csv (the contacts) or --json (the summary)');
      }
      await withLedger(context, async (open) => {
        const batch = await readBatch(open.ledger, id);
        const filter = { state, code };
        if (csv === true) {
          await writeCsv(context, open, batch, filter);
          return;
        }
        const groups = await groupFailures(open.ledger, batch, filter);
        print(context, command, { batch: id, failures: groups }, () =>
          groups.length === 0
            ? ['No contact failed.']
            : [...describeGroups(groups), 'Add --csv to export their contacts.'],
        );
      });
    });
}

async function writeCsv(
  { stdout, stderr }: CommandContext,
  { ledger, config }: OpenLedger,
  batch: Batch,
  filter: FailureFilter,
): Promise<void> {
  const keys = payloadKeys(config.queue);
  const { contacts, gone } = await exportFailures(
    ledger,
    batch,
    filter,
    (payload) => decodeContacts(payload, keys),
    (text) => writeOut(stdout, text),
  );
  stderr.write(
    contacts === 0 ? 'No contact matches.\n' : `Exported ${countOf(contacts, 'contact')}.\n`,
  );
  if (gone > 0) {
    stderr.write(
      `${countOf(gone, 'chunk or part of a chunk', 'chunks or parts of chunks')} left out: sent again meanwhile.\n`,
    );
  }
}

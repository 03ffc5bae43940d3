import { Command, Option } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import { exportFailures } from '../../batch/failures/export-failures.ts';
import { groupFailures } from '../../batch/failures/failure-groups.ts';
import { payloadKeys } from '../../batch/payload/payload-key.ts';
import { decodeContacts } from '../../batch/payload/payload.ts';
import { FAILED_STATES, type FailureFilter } from '../../batch/failures/select-failures.ts';
import { describeGroups } from './batch-view.ts';
import type { CommandContext } from '../command-context.ts';
import { batchId, readBatch, withLedger, type OpenLedger } from '../open-ledger.ts';
import { print, wantsJson, writeOut } from '../output.ts';
import { count, countOf } from '../progress.ts';
import { UsageError } from '../usage-error.ts';

interface FailuresFlags extends FailureFilter {
  csv?: boolean;
}

/** `notices failures ID`: a summary without numbers; with `--csv` the contacts themselves. */
export function failuresCommand(context: CommandContext): Command {
  return new Command('failures')
    .description('the contacts of a batch that were not accepted, and why')
    .argument('<id>', 'id of the batch', batchId)
    .addOption(new Option('--state <state>', 'only those in this state').choices(FAILED_STATES))
    .option('--code <code>', 'only those with this code')
    .option(
      '--csv',
      'write the contacts as CSV, ready to be imported again; it holds phone numbers',
    )
    .action(async (id: string, { csv, state, code }: FailuresFlags, command: Command) => {
      if (csv === true && wantsJson(command)) {
        throw new UsageError('give either --csv or --json: a summary is JSON, an export is CSV');
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
            ? ['none']
            : [...describeGroups(groups), 'Their contacts: the same command with --csv.'],
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
    contacts === 0 ? 'no contacts match\n' : `${countOf(contacts, 'contact')}, as imported\n`,
  );
  if (gone > 0) {
    stderr.write(
      `${count(gone)} chunks or parts of chunks were sent again meanwhile and are not in it\n`,
    );
  }
}

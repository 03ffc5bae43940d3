import { Command, Option } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import { FAILED_STATES, type FailureFilter } from '../../batch/failures/select-failures.ts';
import { countOf } from '../../format/format.ts';
import { batchId } from '../arguments.ts';
import { UsageError } from '../usage-error.ts';
import { currentUser, type CommandContext } from '../command-context.ts';
import { readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import {
  failedFlags,
  refuseNoticeFlags,
  showFailed,
  type FailedFlags,
} from '../notices/failed-notices.ts';
import { print, wantsJson, writeOut, writeText } from '../output.ts';
import { saysExported } from '../says-exported.ts';

interface FailuresFlags extends FailureFilter, Omit<FailedFlags, 'state' | 'code'> {
  csv?: boolean;
}

/** `notices failures [ID]`: of a batch or of single notices, a summary without phone numbers; with `--csv` the contacts themselves. */
export function failuresCommand(context: CommandContext): Command {
  const command = new Command('failures')
    .argument('[id]', 'id of the batch', batchId)
    .addOption(new Option('--state <state>', 'only contacts in this state').choices(FAILED_STATES))
    .option('--code <code>', 'only contacts with this code')
    .option(
      '--csv',
      'write the contacts as CSV, including phone numbers; the file can be imported again',
    );
  return failedFlags(command).action(
    async (id: string | undefined, flags: FailuresFlags, self: Command) => {
      const { csv, state, code } = flags;
      if (csv === true && wantsJson(self)) {
        throw new UsageError('use either --csv (the contacts) or --json (the summary)');
      }
      await withLedger(context, async (open) => {
        if (id === undefined) {
          if (state === 'expired' || state === 'cancelled') {
            throw new UsageError('--state: single notices are rejected or unknown');
          }
          await showFailed(context, open, { ...flags, state }, self);
          return;
        }
        refuseNoticeFlags(flags);
        const batch = await readBatch(open.ledger, id);
        const filter = { state, code };
        if (csv === true) {
          await writeCsv(context, open, batch, filter, flags.why);
          return;
        }
        const { groupFailures } = await import('../../batch/failures/failure-groups.ts');
        const { describeGroups } = await import('./batch-view.ts');
        const groups = await groupFailures(open.ledger, batch, filter);
        print(context, self, { batch: id, failures: groups }, () =>
          groups.length === 0
            ? ['No contact failed.']
            : [...describeGroups(groups), 'Add --csv to export their contacts.'],
        );
      });
    },
  );
}

async function writeCsv(
  { stdout, stderr }: CommandContext,
  { ledger, redis, keys: own, sealing }: OpenLedger,
  batch: Batch,
  filter: FailureFilter,
  why = '',
): Promise<void> {
  const [{ exportFailures }, { appendAudit }, { batchSeal }, { decodeContacts }] =
    await Promise.all([
      import('../../batch/failures/export-failures.ts'),
      import('../../ops/audit.ts'),
      import('../../payload/seal.ts'),
      import('../../payload/chunk-payload.ts'),
    ]);
  const { state = 'all', code } = filter;
  const as = [state, ...(code === undefined ? [] : [code])].join(' ');
  const entry = { what: 'download', target: `batch ${batch.id}`, as } as const;
  await appendAudit(redis, own, { who: currentUser(), why, ...entry });
  const by = batchSeal(sealing, batch.id);
  const { contacts, gone } = await exportFailures(
    ledger,
    batch,
    filter,
    (payload) => decodeContacts(payload, by),
    (text) => writeOut(stdout, text),
  );
  saysExported({ stderr }, contacts);
  if (gone > 0) {
    writeText(
      stderr,
      `${countOf(gone, 'chunk or part of a chunk', 'chunks or parts of chunks')} left out: sent again meanwhile.\n`,
    );
  }
}

import { Command } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import { BATCH_ID } from '../../contracts/chunk-job.ts';
import type { NoticeRef } from '../../notices/notice-state.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { CANCEL_TEXT } from '../../ops/notice-words.ts';
import { apiKeyOption, keyOf } from '../arguments.ts';
import { type CommandContext, currentUser } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { noSuchBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import { cancelSelected } from '../../ops/operations/waiting.ts';
import { addFlags, runOperation, typedOf } from '../operation-command.ts';
import { control } from './batch-control.ts';

interface CancelFlags {
  key?: string;
  apiKey?: string;
  releaseKey?: boolean;
  why?: string;
  yes?: boolean;
}

/**
 * `notices cancel`: a batch or a single notice by its id, or all notices that wait and match. Exits with 1 where the phase of the batch does not allow
 * it, the notice was or may have been sent, or the user declined.
 */
export function cancelCommand(context: CommandContext): Command {
  const command = new Command('cancel')
    .argument('[id]', 'id of the batch or notice; without it all that the flags select')
    .option('--key <idempotency key>', 'the notice that was sent with this idempotency key')
    .addOption(apiKeyOption());
  addFlags(command, cancelSelected);
  return command.action(async (id: string | undefined, flags: CancelFlags) => {
    const { releaseKey: _, ...selected } = typedOf(cancelSelected, { ...flags });
    const isSelected = Object.keys(selected).length > 0;
    const given = [id !== undefined, flags.key !== undefined, isSelected];
    if (given.filter(Boolean).length !== 1) {
      throw new UsageError('use either an id, --key, or flags that select such as --template');
    }
    if (isSelected) {
      if (flags.apiKey !== undefined) throw new UsageError('--api-key: use it with --key');
      const typed = typedOf(cancelSelected, { ...flags });
      await runOperation(context, command, cancelSelected, typed, flags.why, flags.yes);
      return;
    }
    const byKey = await keyOf(flags.key, flags.apiKey);
    await withLedger(context, async (open) => {
      const batch = id !== undefined && BATCH_ID.test(id) ? await open.ledger.read(id) : undefined;
      await (batch === undefined
        ? cancelNotice(context, open, id ?? byKey, flags, command)
        : cancelBatch(context, open, batch, flags, command));
    });
  });
}

async function cancelBatch(
  context: CommandContext,
  open: OpenLedger,
  { id, counts, phase }: Batch,
  { releaseKey, yes, why = '' }: CancelFlags,
  command: Command,
): Promise<void> {
  if (releaseKey === true) {
    throw new UsageError(
      '--release-key: leave it out for a batch; only single notices have idempotency keys',
    );
  }
  if (phase !== 'finished' && phase !== 'cancelled') {
    const question = `Cancel batch ${id}? ${formatCount(counts.pending)} of ${countOf(counts.total, 'contact')} would never be sent.`;
    if (!(await agreed(context, question, yes))) return;
  }
  await control(context, open, id, 'cancel', command, why);
}

const KEY_STAYS = 'No idempotency key was released: the notice has none.';

/** Ids that this package gives to single notices. */
const NOTICE_ID = /^n-/;

async function cancelNotice(
  context: CommandContext,
  { redis, keys }: OpenLedger,
  ref: NoticeRef,
  { releaseKey, why = '' }: CancelFlags,
  command: Command,
): Promise<void> {
  const { cancelAudited } = await import('../../ops/notice-actions.ts');
  const actor = { who: currentUser(), why };
  const report = await cancelAudited({ redis, keys }, ref, { releaseKey }, actor);
  const { answer } = report;
  if (answer === 'not-kept' && typeof ref === 'string' && !NOTICE_ID.test(ref)) {
    throw noSuchBatch(ref);
  }
  print(context, command, report, () => [
    `Notice ${report.id} ${CANCEL_TEXT[answer]}.`.replace('  ', ' '),
    ...(releaseKey === true && report.cancelled && report.keyReleased !== true ? [KEY_STAYS] : []),
  ]);
  if (!report.cancelled) context.end(1);
}

import { Command } from 'commander';
import { BATCH_ID } from '../../contracts/job.ts';
import type { NoticeRef } from '../../notices/notice-state.ts';
import { CANCEL_TEXT } from '../../ops/notice-words.ts';
import { apiKeyOption, keyOf } from '../arguments.ts';
import { type CommandContext, currentUser } from '../command-context.ts';
import { noSuchBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { print } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import { cancelBatch } from '../../ops/operations/batches.ts';
import { cancelSelected } from '../../ops/operations/waiting.ts';
import { addFlags, typedOf } from '../operation-command.ts';
import { runOperation } from '../run-operation.ts';

interface CancelFlags {
  key?: string;
  apiKey?: string;
  releaseKey?: boolean;
  why?: string;
}

/**
 * `notices cancel`: a batch or a single notice by its id, or all notices that wait and match. Exits with 1 where the
 * phase of the batch does not allow it, a notice was or may have been sent, or the user declined.
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
      await runOperation(context, command, cancelSelected, typed);
      return;
    }
    const byKey = await keyOf(flags.key, flags.apiKey);
    const isBatch = await withLedger(context, async (open) => {
      const named = id !== undefined && BATCH_ID.test(id) ? await open.ledger.read(id) : undefined;
      if (named === undefined) await cancelNotice(context, open, id ?? byKey, flags, command);
      return named !== undefined;
    });
    if (!isBatch) return;
    if (flags.releaseKey === true) throw new UsageError(NO_KEY);
    await runOperation(context, command, cancelBatch, { id });
  });
}

const NO_KEY = '--release-key: leave it out for a batch; only single notices have idempotency keys';
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

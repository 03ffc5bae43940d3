import type { Command } from 'commander';
import { batchFailures, redriveBatch } from '../../ops/operations/batch-failures.ts';
import { cancelBatch } from '../../ops/operations/batches.ts';
import { deleteFailed, failed, redriveFailed } from '../../ops/operations/failed-notices.ts';
import { cancelByKey, cancelNotice, showByKey, showNotice } from '../../ops/operations/notice.ts';
import { cancelSelected } from '../../ops/operations/waiting.ts';
import { UsageError, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { chosenCommand } from '../operation-command.ts';
import type { CommonFlags } from '../run-operation.ts';

/** Ids that this package gives to single notices. */
const NOTICE_ID = /^n-/;

const ALL_NOTICES = 'all single notices that match the flags';

/** `notices show`: a single notice by its id or idempotency key; exits with 1 where nothing is kept. */
export const showCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'show',
    ['[id]', 'id of the notice'],
    [showNotice, showByKey],
    ([id], { key }) => {
      if ((id === undefined) === (key === undefined))
        throw new UsageError('use either an id or --key');
      return id === undefined ? { row: showByKey } : { row: showNotice, typed: { id } };
    },
  );

/**
 * `notices cancel`: a batch or a single notice by its id, or all notices that wait and match. Exits with 1 where the
 * phase of the batch does not allow it, a notice was or may have been sent, or the user declined.
 */
export const cancelCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'cancel',
    ['[id]', 'id of the batch or notice; without it all that the flags select'],
    [cancelSelected, cancelBatch, cancelNotice, cancelByKey],
    async ([id], { why: _why, yes: _yes, releaseKey: _key, apiKey, key, ...selects }) => {
      const given = [id, key, Object.values(selects)[0]];
      if (given.filter((one) => one !== undefined).length !== 1) {
        throw new UsageError('use either an id, --key, or flags that select such as --template');
      }
      if (id === undefined) {
        if (key === undefined && apiKey !== undefined) {
          throw new UsageError('--api-key: use it with --key');
        }
        return { row: key === undefined ? cancelSelected : cancelByKey };
      }
      const isBatch = !NOTICE_ID.test(id) && (await isBatchId(context, id));
      return { row: isBatch ? cancelBatch : cancelNotice, typed: { id } };
    },
  );

/** Ids of producers in other languages may look like those of batches. */
const isBatchId = (context: CommandContext, id: string): Promise<boolean> =>
  withLedger(context, async ({ ledger }) => (await ledger.read(id)) !== undefined);

/** `notices failures [ID]`: of a batch or of single notices; with `--csv` the contacts themselves. */
export const failuresCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'failures',
    ['[id]', 'id of the batch'],
    [batchFailures, failed],
    ([id]) => (id === undefined ? { row: failed } : { row: batchFailures, typed: { id } }),
  );

/** `notices redrive`: contacts of a batch, or single notices. */
export const redriveCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'redrive',
    ['[ids...]', 'id of the batch, or ids of single notices'],
    [redriveBatch, redriveFailed],
    (ids, flags) => {
      requireNamed(ids, flags);
      const [id = '', ...more] = ids;
      if (ids.length === 0) return { row: redriveFailed };
      return more.length > 0 || NOTICE_ID.test(id)
        ? { row: redriveFailed, typed: { ids } }
        : { row: redriveBatch, typed: { id } };
    },
  ).option('--notices', ALL_NOTICES);

/** `notices delete`: deletes rejected single notices. */
export const deleteCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    'delete',
    ['[ids...]', 'ids of single notices'],
    [deleteFailed],
    (ids, flags) => {
      requireNamed(ids, flags);
      return { row: deleteFailed, typed: ids.length === 0 ? {} : { ids } };
    },
  ).option('--notices', ALL_NOTICES);

/** @throws UsageError for both ids and all, or neither */
function requireNamed(ids: readonly string[], { notices }: CommonFlags): void {
  if (ids.length > 0 === (notices === true)) throw new UsageError('use either ids or --notices');
}

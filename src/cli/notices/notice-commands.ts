import { Command } from 'commander';
import { cancelBatch } from '../../ops/operations/batches.ts';
import { cancelByKey, cancelNotice, showByKey, showNotice } from '../../ops/operations/notice.ts';
import { cancelSelected } from '../../ops/operations/waiting.ts';
import { UsageError, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { chosenCommand } from '../operation-command.ts';

/** Ids that this package gives to single notices. */
const NOTICE_ID = /^n-/;

/** `notices show`: a single notice by its id or idempotency key; exits with 1 where nothing is kept. */
export const showCommand = (context: CommandContext): Command =>
  chosenCommand(
    context,
    new Command('show').description(
      'The state of a single notice by its id or idempotency key, and why it waits or failed; ends with 1 if it is not kept.',
    ),
    ['[id]', 'id of the notice'],
    [showNotice, showByKey],
    ([id], { idempotencyKey: key }) => {
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
    new Command('cancel').description(
      'Cancels a batch, a single notice, or, after a preview, all single notices that wait and match; what waits of it is never sent, which cannot be undone.',
    ),
    ['[id]', 'id of the batch or notice; without it all that the flags select'],
    [cancelSelected, cancelBatch, cancelNotice, cancelByKey],
    async ([id], { why: _why, yes: _yes, releaseKey: _key, apiKey, ...others }) => {
      const { idempotencyKey: key, ...selects } = others;
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

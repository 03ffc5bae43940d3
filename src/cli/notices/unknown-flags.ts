import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { UnknownFilter } from '../../ops/unknown.ts';
import type { UnknownContext } from '../../ops/unknown/select.ts';
import { age, batchId, wholeNumber, whyOption } from '../arguments.ts';
import { UsageError, currentUser, type CommandContext } from '../command-context.ts';
import type { OpenLedger } from '../open-queue.ts';

/** Flags that select unknown outcomes. */
export interface UnknownFlags {
  batch?: string;
  chunk?: number;
  code?: string;
  template?: string;
  olderThan?: number;
  number?: string;
  why?: string;
}

/** Adds them. */
export function unknownFlags(command: Command): Command {
  return command
    .option('--batch <id>', 'only contacts of this batch', batchId)
    .option('--chunk <n>', 'only contacts of this chunk of the batch', wholeNumber(0, 2 ** 31))
    .option('--code <code>', 'only with this code')
    .option('--template <code>', 'only with this template code')
    .option(
      '--older-than <duration>',
      'unknown for longer than this, such as 90s, 15m, 2h or 3d',
      age,
    )
    .option('--number <number>', "only this phone number; '-' reads it from standard input")
    .addOption(whyOption());
}

/** Whether one of them selects something by itself. */
export function selectsByFilter({
  batch,
  code,
  template,
  olderThan,
  number,
}: UnknownFlags): boolean {
  return [batch, code, template, olderThan, number].some((flag) => flag !== undefined);
}

/** What selecting unknown outcomes needs. */
export function unknownContext({ redis, keys, ledger, sealing }: OpenLedger): UnknownContext {
  return { redis, keys, ledger, sealing };
}

/**
 * The filter of the flags. A search for a phone number is recorded in the audit stream.
 *
 * @throws UsageError where the batch does not exist, or the number is not one
 */
export async function filterOf(
  { stdin }: Pick<CommandContext, 'stdin'>,
  { ledger, redis, keys }: Pick<OpenLedger, 'ledger' | 'redis' | 'keys'>,
  { batch, chunk, code, template, olderThan, number: given, why }: UnknownFlags,
): Promise<UnknownFilter> {
  if (chunk !== undefined && batch === undefined) throw new UsageError('--chunk requires --batch');
  if (batch !== undefined) {
    const { requireBatch } = await import('../../ops/batch-actions.ts');
    await requireBatch({ ledger }, batch);
  }
  const before = olderThan === undefined ? undefined : Date.now() - olderThan;
  const filter = { batch, chunk, code, template, before };
  if (given === undefined) return filter;
  const { lookUpNumber } = await import('../../batch/source/check-number.ts');
  const { auditSearch } = await import('../../ops/audit.ts');
  const checked = lookUpNumber(given === '-' ? (await text(stdin)).trim() : given);
  if (checked.kind === 'refused') throw new UsageError(`--number: ${checked.reason}`);
  const { number } = checked;
  await auditSearch(redis, keys, { who: currentUser(), why: why ?? '' }, number);
  return { ...filter, number };
}

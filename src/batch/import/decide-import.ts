import type { Batch } from '../ledger/batch-record.ts';
import type { CheckedImportOptions } from './import-options.ts';

/** Options of sending. Given again for a batch that exists, they must be those it was created with. */
export type SendingOptions = Pick<
  CheckedImportOptions,
  'chunkSize' | 'delivery' | 'expiresAt' | 'rate' | 'bisect'
>;

/** What Redis has of the list. */
export interface FoundBatches {
  /** The batch that `batchId` names, and whether it has the same list. */
  readonly named?: { readonly batch: Batch; readonly sameList: boolean } | undefined;
  /** The last batch of the same list. */
  readonly earlier?: Batch | undefined;
}

/** What an import does. */
export type ImportDecision =
  | { readonly kind: 'create' }
  /** Continues an import that has not ended. */
  | { readonly kind: 'continue'; readonly batch: Batch }
  /** Reports that the import of the named batch has ended. */
  | { readonly kind: 'ended'; readonly batch: Batch }
  | { readonly kind: 'cancelled'; readonly batch: Batch }
  /** The named batch has another list, or the options that are named here differ. */
  | { readonly kind: 'conflict'; readonly differing: readonly string[] }
  /** The list was imported before and is not sent again without a decision. */
  | { readonly kind: 'repeated'; readonly batch: Batch; readonly differing: readonly string[] };

/**
 * Decides what becomes of a list:
 *
 * | named batch | earlier batch of the list | `again` | decision |
 * |---|---|---|---|
 * | has another list, or other options | | | conflict |
 * | cancelled | | | cancelled |
 * | its import has ended | | | ended |
 * | its import has not ended | | | continue it |
 * | none | none | | create |
 * | none | any | yes | create; without `batchId`, an import that has not ended is continued, given the same options |
 * | none | import not ended, same options, no `batchId` | no | continue it |
 * | none | any other | no | repeated |
 */
export function decideImport(
  { named, earlier }: FoundBatches,
  { again, batchId, ...options }: SendingOptions & Pick<CheckedImportOptions, 'again' | 'batchId'>,
): ImportDecision {
  if (named !== undefined) {
    const { batch, sameList } = named;
    const differing = differingOptions(options, batch);
    if (!sameList || differing.length > 0) return { kind: 'conflict', differing };
    if (batch.phase === 'cancelled') return { kind: 'cancelled', batch };
    return { kind: batch.importedAt > 0 ? 'ended' : 'continue', batch };
  }
  if (earlier === undefined) return { kind: 'create' };
  const differing = differingOptions(options, earlier);
  const canContinue = batchId === undefined && earlier.importedAt === 0 && differing.length === 0;
  if (canContinue) return { kind: 'continue', batch: earlier };
  return again ? { kind: 'create' } : { kind: 'repeated', batch: earlier, differing };
}

/** Names of the options that were given and differ from those of the batch. */
function differingOptions(options: SendingOptions, batch: Batch): string[] {
  const names = ['chunkSize', 'delivery', 'expiresAt', 'rate', 'bisect'] as const;
  return names.filter((name) => options[name] !== undefined && options[name] !== batch[name]);
}

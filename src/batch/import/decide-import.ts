import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/delivery.ts';
import type { Batch, ImportRecord } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CheckedImportOptions } from './import-options.ts';
import type { OpenedList } from './opened-list.ts';

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

/** The batch that is named, and those with the list, of all that Redis keeps. */
export interface BatchesOfList extends FoundBatches {
  readonly records: ReadonlyMap<string, ImportRecord>;
  /** Ids of the batches whose lists have the same head, also of some whose records are deleted. */
  readonly ids: readonly string[];
  /** Digest of the whole list; '' if it was not read. */
  readonly content: string;
  /** Whether `earlier` has the same list; otherwise only the heads were compared. */
  readonly isWhole: boolean;
}

/**
 * Finds the batches that may have a list: those whose lists have the same head, under the delivery policy that is asked
 * for or, without one, under any, since DELIVERY may have changed since. Of these, `earlier` is the newest one that
 *
 * 1. has the same list: it ends with its head, or both are known as a whole;
 * 2. may have it: a list that can be read only once is known by its head, and one whose import has not reached its end
 *    may be corrected meanwhile. Of these, one whose import has ended comes first, unless the list is sent `again`.
 */
export async function findBatches(
  ledger: Ledger,
  list: OpenedList,
  options: CheckedImportOptions,
): Promise<BatchesOfList> {
  const { identity, contacts, complete } = list.head;
  const policies = options.delivery === undefined ? DELIVERY_POLICIES : [options.delivery];
  const idsOf = async (digest: string) =>
    (await Promise.all(policies.map((of) => ledger.batchesOfList(listName(of, digest))))).flat();
  const records = new Map<string, ImportRecord>();
  const load = async (ids: readonly string[]) => {
    const loaded = await Promise.all([...new Set(ids)].map((id) => ledger.importRecord(id)));
    const found = loaded.filter((record) => record !== undefined);
    for (const record of found) records.set(record.batch.id, record);
    return found;
  };

  const [named] = options.batchId === undefined ? [] : await load([options.batchId]);
  if (named !== undefined) {
    const sameList = named.fingerprint === identity;
    return {
      records,
      named: { batch: named.batch, sameList },
      ids: [],
      content: '',
      isWhole: true,
    };
  }

  const ids = contacts === 0 ? [] : await idsOf(identity);
  const loaded = await load(ids);
  // Another import has created it meanwhile.
  if (records.has(options.batchId ?? '')) return findBatches(ledger, list, options);
  const content = complete ? '' : (list.knownContent ?? '');
  // An id may have been used again, for another list.
  const whole = complete ? identity : content;
  const isWhole = (record: ImportRecord) => whole !== '' && record.content === whole;
  const ofHead = loaded.filter((one) => one.fingerprint === identity || isWhole(one));
  const same = ofHead.filter((one) => complete || isWhole(one));
  const alike = ofHead.filter(
    (one) => content === '' || one.content === '' || one.batch.importedAt === 0,
  );
  const ended = alike.filter(({ batch }) => batch.importedAt > 0);
  const like = options.again || ended.length === 0 ? alike : ended;
  const earlier = (newestOf(same) ?? newestOf(like))?.batch;
  return { records, earlier, ids, content, isWhole: same.length > 0 };
}

function newestOf(records: readonly ImportRecord[]): ImportRecord | undefined {
  return [...records].sort((a, b) => b.batch.begunAt - a.batch.begunAt)[0];
}

/** Name under which the batches of a list are found: the delivery policy is part of it. */
export function listName(delivery: DeliveryPolicy, digest: string): string {
  return `${delivery}:${digest}`;
}

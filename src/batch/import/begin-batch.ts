import { randomBytes } from 'node:crypto';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/delivery.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ImportRecord } from '../ledger/ledger-reader.ts';
import type { OpenedList } from './opened-list.ts';
import { decideImport, type FoundBatches } from './decide-import.ts';
import type { CheckedImportOptions } from './import-options.ts';
import { batchIdOf, type ImportPlan } from './import-plan.ts';
import type { ListHead } from './list-digest.ts';

/** What a batch is created with. */
export interface BatchRequest {
  readonly plan: ImportPlan;
  readonly options: CheckedImportOptions;
  readonly batchRetentionMs: number;
}

/** A batch that was created or is continued, or whose import has ended. */
export interface StartedBatch {
  readonly batch: Batch;
  readonly kind: 'created' | 'continued' | 'ended';
  /** Digest of the rows up to the last stored chunk; empty if there is none. */
  readonly digest: string;
}

/** Other imports of the same list, at the same moment, that this one gives way to. */
const MAX_ATTEMPTS = 20;

/**
 * Creates the batch of a list, or finds the one to continue (decide-import.ts). An earlier batch is found by
 * the identity of the list, as long as its record is kept. A list that is longer than its head has the
 * identity of its head. If it can be read twice and the earlier import read its list to the end, the whole
 * lists are compared, so that a list that only begins like another one is not refused.
 *
 * @throws NoticeQueueError LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED; nothing was queued
 */
export async function beginBatch(
  ledger: Ledger,
  list: OpenedList,
  request: BatchRequest,
): Promise<StartedBatch> {
  const { plan, options, batchRetentionMs } = request;
  const { head } = list;
  for (let attempt = 0; ; attempt++) {
    const { owner, records, ...found } = await findBatches(ledger, head, request);
    const decision = decideImport(found, options);
    switch (decision.kind) {
      case 'conflict':
        throw conflict(options.batchId ?? '', decision.differing);
      case 'cancelled':
        throw new NoticeQueueError('BATCH_CANCELLED');
      case 'continue': {
        const record = records.get(decision.batch.id);
        if (record?.fingerprint === plan.olderFingerprint) refuseLeftOut(record, list);
        return { batch: decision.batch, kind: 'continued', digest: record?.digest ?? '' };
      }
      case 'ended': {
        const content = records.get(decision.batch.id)?.content ?? '';
        if (content !== '' && content !== (await list.content())) throw conflict(decision.batch.id);
        return { batch: decision.batch, kind: 'ended', digest: '' };
      }
      case 'repeated': {
        const before = await earlierOf(ledger, records.get(decision.batch.id), list, plan);
        if (before !== undefined) throw repeated(before, decision.differing, head, before.whole);
        break;
      }
      case 'create':
    }
    const id = options.batchId ?? randomId();
    const result = await ledger.start(id, plan.plan, head.identity, batchRetentionMs, {
      // Lists without a single contact have nothing that could be sent twice.
      name: head.contacts === 0 ? '' : listName(plan.plan.delivery, head.identity),
      owner: owner ?? '',
    });
    // Another import was faster: its batch is found now.
    if (result !== 'started' && attempt < MAX_ATTEMPTS) continue;
    if (result !== 'started') throw conflict(id);
    const batch = await ledger.read(id);
    if (batch === undefined) throw new NoticeQueueError('IMPORT_STOPPED');
    return { batch, kind: 'created', digest: '' };
  }
}

interface BatchesOfList extends FoundBatches {
  /** Id of the last batch with this identity, even if its record is deleted. */
  readonly owner: string | undefined;
  readonly records: ReadonlyMap<string, ImportRecord>;
}

async function findBatches(
  ledger: Ledger,
  head: ListHead,
  { options, plan }: BatchRequest,
): Promise<BatchesOfList> {
  const { olderFingerprint } = plan;
  const { delivery } = plan.plan;
  const ownerFor = async (policy: DeliveryPolicy) =>
    head.contacts === 0 ? undefined : ledger.batchOfList(listName(policy, head.identity));
  const owner = await ownerFor(delivery);
  // DELIVERY may have changed since the earlier import: where the options have no policy, any is found.
  const otherPolicies = DELIVERY_POLICIES.filter((policy) => policy !== delivery);
  const others =
    options.delivery === undefined ? await Promise.all(otherPolicies.map(ownerFor)) : [];
  // A file that a version without list identities imported, with the same options.
  const olderId = batchIdOf(olderFingerprint);
  const records = new Map<string, ImportRecord>();
  for (const id of new Set([options.batchId, owner, ...others, olderId])) {
    const record = id === undefined ? undefined : await ledger.importRecord(id);
    if (record !== undefined) records.set(record.batch.id, record);
  }
  const named = options.batchId === undefined ? undefined : records.get(options.batchId);
  const older = records.get(olderId);
  const isOlder = older?.fingerprint === olderFingerprint;
  return {
    owner,
    records,
    named: named && {
      batch: named.batch,
      sameList: [head.identity, olderFingerprint].includes(named.fingerprint),
    },
    earlier:
      [owner, ...others]
        .map((id) => records.get(id ?? '')?.batch)
        .find((batch) => batch !== undefined) ?? (isOlder ? older.batch : undefined),
  };
}

/**
 * The batch that had this list before; undefined if the list only begins like that of `record`.
 */
async function earlierOf(
  ledger: Ledger,
  record: ImportRecord | undefined,
  list: OpenedList,
  { olderFingerprint }: ImportPlan,
): Promise<(Batch & { readonly whole: boolean }) | undefined> {
  if (record === undefined) return undefined;
  const { batch, fingerprint } = record;
  if (list.head.complete || fingerprint === olderFingerprint) return { ...batch, whole: true };
  if (!list.canReread || record.content === '') return { ...batch, whole: false };
  const digest = await list.content();
  const name = listName(batch.delivery, digest);
  const owner = digest === record.content ? batch.id : await ledger.batchOfList(name);
  const same = owner === undefined ? undefined : await ledger.read(owner);
  return same && { ...same, whole: true };
}

/** An earlier version sent all columns; without them, rows may be refused or taken that were not before. */
function refuseLeftOut({ batch }: ImportRecord, list: OpenedList): void {
  if (list.columns().leftOut.length === 0) return;
  throw new NoticeQueueError(
    'BATCH_CONFLICT',
    `Batch ${batch.id} was started by an earlier version, which sent all columns: pass --pass-through (passThrough) to continue it, or cancel it.`,
  );
}

function repeated(
  { id, begunAt, importedAt, phase, counts }: Batch,
  differing: readonly string[],
  { contacts }: ListHead,
  whole: boolean,
): NoticeQueueError {
  const what = whole
    ? 'This list is'
    : `The first ${countOf(contacts, 'contact')} of this list ${contacts === 1 ? 'is' : 'are'}`;
  const state =
    importedAt === 0 ? 'its import has not ended' : `${phase}, ${countOf(counts.total, 'contact')}`;
  const other = differing.length === 0 ? '' : ` Other options than there: ${differing.join(', ')}.`;
  return new NoticeQueueError(
    'LIST_REPEATED',
    `${what} in batch ${id} already, started ${new Date(begunAt).toISOString()} (${state}); nothing was enqueued.${other}`,
  );
}

function conflict(id: string, differing: readonly string[] = []): NoticeQueueError {
  const what = differing.length === 0 ? 'another list' : `other options (${differing.join(', ')})`;
  return new NoticeQueueError(
    'BATCH_CONFLICT',
    `Batch ${id} was started with ${what}; nothing was queued.`,
  );
}

/** Name under which the last batch of a list is found: the delivery policy is part of it. */
export function listName(delivery: DeliveryPolicy, digest: string): string {
  return `${delivery}:${digest}`;
}

/** Not derived from the list: ids are logged, and there are so few phone numbers that all could be tried. */
const randomId = () => batchIdOf(randomBytes(12).toString('base64url'));

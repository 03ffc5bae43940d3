import type { CancelSignal } from '../contracts/token.ts';
import { searchChunks } from '../number-index/chunk-fingerprints.ts';
import { removeEntries, storedEntries } from '../number-index/notice-number-index.ts';
import { findKey, hashNumber } from '../number-index/number-key.ts';
import { appendAudit, withoutNumbers, type Actor } from '../ops/audit.ts';
import type { EntrySource } from '../ops/entries.ts';
import { maskNumber } from '../ops/mask-contact.ts';
import type { OperationContext } from '../ops/operations/operation.ts';
import { redisFailure } from '../redis/failure.ts';
import { sumOf, type EraseReport } from './erase-words.ts';
import { eraseNotice } from './erase-notice.ts';
import { eraseContacts, storedContacts } from './stored-contacts.ts';
import { readStored, storedNotices } from './stored-notices.ts';

/** Where a person's data is stored. Without FIND_KEY the search index is neither read nor changed. */
type EraseContext = EntrySource & Pick<OperationContext, 'findSettings'>;

/** What is erased, by whom, and what stops it between two steps. */
interface Erasure {
  /** Of the number: digits only. */
  readonly forms: readonly string[];
  /** Recorded in the audit stream. Undefined for a preview: it changes nothing. */
  readonly actor?: Actor | undefined;
  readonly signal?: CancelSignal | undefined;
}

/**
 * Erases a number from all single notices, from all contacts of batches that are kept, and from the search index. Run it
 * again for what is left. What is stored meanwhile may be left.
 *
 * @returns what was erased; of a preview, what would be
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE; what was erased before is in
 *   the audit stream
 */
export async function eraseNumber(context: EraseContext, erasure: Erasure): Promise<EraseReport> {
  const { actor, signal, forms } = erasure;
  const report: EraseReport = {
    number: maskNumber(forms[0] ?? ''),
    notices: { cancelled: 0, removed: 0, shortened: 0 },
    batches: [],
    index: context.findSettings.findKey === undefined ? null : { notices: 0, chunks: 0 },
    left: [],
    unreadable: { notices: 0, chunks: 0 },
    importing: [],
    stopped: false,
  };
  try {
    await eraseNotices(context, erasure, report);
    await eraseFromBatches(context, erasure, report);
    if (signal?.aborted !== true) await eraseEntries(context, erasure, report);
    report.stopped = signal?.aborted === true;
    return report;
  } catch (error) {
    throw redisFailure(error);
  } finally {
    const { contacts, entries } = sumOf(report);
    if (actor !== undefined && contacts + entries > 0) {
      const why = withoutNumbers(actor.why);
      const target = `number ${report.number}`;
      const entry = { what: 'erase', target, as: 'erased', contacts } as const;
      await appendAudit(context, { ...actor, why }, entry);
    }
  }
}

async function eraseNotices(
  context: EraseContext,
  { forms, actor, signal }: Erasure,
  { notices, left, unreadable }: EraseReport,
): Promise<void> {
  const found = storedNotices(context, forms, () => unreadable.notices++, signal);
  for await (const { id, expected } of found) {
    if (signal?.aborted === true) return;
    const became = actor === undefined ? expected : await eraseNotice(context, id, forms);
    if (became === 'cancelled' || became === 'removed' || became === 'shortened') {
      notices[became] += 1;
    } else if (became !== 'gone') left.push({ notice: id, reason: became });
  }
}

/**
 * Erases the contacts of batches, and their fingerprints where none of a batch is left or cannot be read: the fingerprints
 * lead to these, and do not tell to which chunk contacts moved.
 */
async function eraseFromBatches(
  context: EraseContext,
  { forms, actor, signal }: Erasure,
  { batches, left, unreadable, importing, index }: EraseReport,
): Promise<void> {
  const { redis, keys, ledger } = context;
  const isStopped = () => signal?.aborted === true;
  for await (const { id: batch, chunks, importedAt } of ledger.all()) {
    if (isStopped()) return;
    if (importedAt === 0) importing.push(batch);
    const before = left.length + unreadable.chunks;
    const sums = { batch, waiting: 0, ended: 0 };
    const found = storedContacts(context, batch, forms, () => unreadable.chunks++, signal);
    for await (const { name, waits } of found) {
      const became =
        actor === undefined ? 'erased' : await eraseContacts(context, batch, name, forms);
      if (became === 'erased') sums[waits ? 'waiting' : 'ended'] += 1;
      else left.push({ batch, chunk: Number.parseInt(name, 10), reason: became });
    }
    if (sums.waiting + sums.ended > 0) batches.push(sums);
    // Of what was not searched the fingerprints stay: these contacts are still there.
    if (isStopped()) return;
    if (index === null || left.length + unreadable.chunks > before) continue;
    for (const hash of hashesOf(context, forms)) {
      const key = keys.batchFind(batch);
      const { hits } = await searchChunks(redis, key, chunks, hash, actor !== undefined);
      index.chunks += hits.length;
    }
  }
}

/** Erases the entries of notices, but not of those that are left: they are found by it. */
async function eraseEntries(
  context: EraseContext,
  { forms, actor }: Erasure,
  { index }: EraseReport,
): Promise<void> {
  if (index === null) return;
  const { redis, keys, findSettings } = context;
  for (const hash of hashesOf(context, forms)) {
    const found = await storedEntries(redis, keys, hash, findSettings.keepFailedMs, Date.now());
    if (actor === undefined) {
      index.notices += found.length;
      continue;
    }
    const kept = new Set<string>();
    for (const { jobId } of found) {
      const stored = await readStored(context, jobId, forms);
      if (stored !== undefined && stored.held !== 'no') kept.add(jobId);
    }
    const removed = found.filter(({ jobId }) => !kept.has(jobId));
    index.notices += await removeEntries(redis, removed);
  }
}

function hashesOf({ findSettings }: EraseContext, forms: readonly string[]) {
  const { findKey: secret } = findSettings;
  return secret === undefined ? [] : forms.map((form) => hashNumber(findKey(secret), form));
}

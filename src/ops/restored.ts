import type { Batch } from '../batch/ledger/batch-record.ts';
import { csvLine } from '../batch/failures/csv-line.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, NO_SEALING, type Sealing } from '../payload/seal.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { lastRestoreEvent, restoredNotices } from './restored-notices.ts';
import { readHold } from '../fleet/hold/hold-scripts.ts';

/** What an older copy of the queue holds that might be sent a second time. Contains no phone numbers. */
export interface RestoredReport {
  readonly event: RestoreEvent;
  /** Whether the queue is still held for it. */
  readonly held: boolean;
  /** Single notices: their jobs, and the contacts in them. */
  readonly notices: { readonly jobs: number; readonly contacts: number };
  readonly batches: readonly RestoredBatch[];
}

/** A batch with unsettled contacts in the copy. */
export interface RestoredBatch {
  readonly batch: string;
  readonly template: string;
  readonly phase: Batch['phase'];
  /** Its import had not ended when the copy was made: run again, it continues from there. */
  readonly importing: boolean;
  readonly contacts: number;
}

/** The account that is read. */
export interface RestoredTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly ledger: Pick<Ledger, 'all' | 'states' | 'payload'>;
  /** Decrypts; without it encrypted contacts cannot be exported. */
  readonly sealing?: Sealing | undefined;
}

/** Chunks whose states are read per command. */
const CHUNKS_PER_READ = 4_096;

/** Size of the pieces of text that are written, in characters. */
const PIECE = 32_768;

const COLUMNS = ['contact', 'template', 'notice', 'batch', 'chunk', 'state', 'handed_over_at'];

/**
 * Counts what was enqueued before Redis was found to be an older copy and is not settled in it. Some of
 * it may have been sent after the copy was made; the copy does not show which.
 *
 * @returns undefined where Redis was never found to be an older copy
 */
export async function reportRestored(target: RestoredTarget): Promise<RestoredReport | undefined> {
  const { redis, keys } = target;
  const event = await lastRestoreEvent(target.redis, target.keys);
  if (event === undefined) return undefined;
  let [jobs, contacts] = [0, 0];
  for await (const notice of restoredNotices(redis, keys, event)) {
    jobs += 1;
    contacts += notice.contacts;
  }
  const batches: RestoredBatch[] = [];
  for await (const batch of unsettledBatches(target, event)) {
    const { id, templateCode, phase, importedAt, counts } = batch;
    batches.push({
      batch: id,
      template: templateCode,
      phase,
      importing: importedAt === 0,
      contacts: counts.pending,
    });
  }
  const hold = await readHold(redis, keys);
  return {
    event,
    held: hold?.kind === 'restored',
    notices: { jobs, contacts },
    batches,
  };
}

/**
 * Writes the contacts that {@link reportRestored} counts as CSV with a header. Memory use does not grow
 * with their number.
 *
 * @param write gets a piece of the text; returns false to stop
 * @returns the number of contacts written; undefined where Redis was never found to be an older copy
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE
 */
export async function exportRestored(
  target: RestoredTarget,
  write: (text: string) => Promise<boolean>,
): Promise<number | undefined> {
  const event = await lastRestoreEvent(target.redis, target.keys);
  if (event === undefined) return undefined;
  let text = csvLine(COLUMNS);
  let contacts = 0;
  for await (const cells of rows(target, event)) {
    text += csvLine(cells);
    contacts += 1;
    if (text.length < PIECE) continue;
    if (!(await write(text))) return contacts;
    text = '';
  }
  await write(text);
  return contacts;
}

async function* rows(target: RestoredTarget, event: RestoreEvent): AsyncGenerator<string[]> {
  const { redis, keys, ledger, sealing = NO_SEALING } = target;
  for await (const notice of restoredNotices(redis, keys, event)) {
    const { id, template, state, enqueuedAt, data } = notice;
    for (const { contact } of contactsOfJob(data, id, sealing)) {
      yield [contact, template, id, '', '', state, new Date(enqueuedAt).toISOString()];
    }
  }
  for await (const { id, templateCode, chunks, begunAt } of unsettledBatches(target, event)) {
    const at = new Date(begunAt).toISOString();
    for (let first = 0; first < chunks; first += CHUNKS_PER_READ) {
      const end = Math.min(chunks, first + CHUNKS_PER_READ);
      for (const [index, state] of (await ledger.states(id, first, end)).entries()) {
        if (state === 'settled' || state === 'none') continue;
        const chunk = String(first + index);
        const payload = await ledger.payload(id, chunk);
        // The chunk was settled between the two reads.
        if (payload === undefined) continue;
        for (const { contact } of await decodeContacts(payload, batchSeal(sealing, id))) {
          yield [contact, templateCode, '', id, chunk, state, at];
        }
      }
    }
  }
}

/** Batches created before the event that are not over. A cancelled batch sends nothing more. */
async function* unsettledBatches(
  { ledger }: RestoredTarget,
  event: RestoreEvent,
): AsyncGenerator<Batch> {
  for await (const batch of ledger.all({ before: event.at + 1 })) {
    const { phase, counts } = batch;
    if (counts.pending > 0 && phase !== 'cancelled' && phase !== 'finished') yield batch;
  }
}

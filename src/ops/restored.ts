import type { Batch } from '../batch/ledger/batch-record.ts';
import { csvLine } from '../batch/failures/csv-line.ts';
import type { DecodeContacts } from '../batch/failures/export-failures.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import { readEpoch } from '../fleet/restore/epoch-store.ts';
import { readHold } from '../fleet/hold/hold-gate.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { restoredNotices } from './restored-notices.ts';

/** What there is in an old copy of the queue that might be sent again. No numbers. */
export interface RestoredReport {
  readonly event: RestoreEvent;
  /** The queue is still held for it. */
  readonly held: boolean;
  /** Single notices: their jobs, and the contacts in them. */
  readonly notices: { readonly jobs: number; readonly contacts: number };
  readonly batches: readonly RestoredBatch[];
}

/** A batch of which something is not settled in the copy. */
export interface RestoredBatch {
  readonly batch: string;
  readonly template: string;
  readonly phase: Batch['phase'];
  /** Its import had not ended when the copy was made: run again, it goes on from there. */
  readonly importing: boolean;
  readonly contacts: number;
}

/** Where to look. */
export interface RestoredTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly ledger: Pick<Ledger, 'list' | 'states' | 'payload'>;
}

/** So many batches are looked at, the newest first. */
const MAX_BATCHES = 1_000;

/** States of so many chunks are read at a time. */
const CHUNKS_PER_READ = 4_096;

/** Text is handed on in pieces of about so many characters. */
const PIECE = 32_768;

const COLUMNS = ['contact', 'template', 'notice', 'batch', 'chunk', 'state', 'handed_over_at'];

/**
 * Counts what was handed over before Redis looked like an old copy and is not settled in it: some of
 * it was sent after the copy was made, and nobody here can tell which. Undefined where it never
 * looked like one.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function reportRestored(target: RestoredTarget): Promise<RestoredReport | undefined> {
  const { redis, keys } = target;
  const event = await lastEvent(target);
  if (event === undefined) return undefined;
  let [jobs, contacts] = [0, 0];
  for await (const notice of restoredNotices(redis, keys, event)) {
    jobs += 1;
    contacts += notice.contacts.length;
  }
  const batches = await unsettledBatches(target, event);
  const hold = await readHold(redis, keys);
  return {
    event,
    held: hold?.kind === 'restored',
    notices: { jobs, contacts },
    batches: batches.map(({ id, templateCode, phase, importedAt, counts }) => ({
      batch: id,
      template: templateCode,
      phase,
      importing: importedAt === 0,
      contacts: counts.pending,
    })),
  };
}

/** The last time that Redis looked like an old copy. */
export async function lastEvent({
  redis,
  keys,
}: Pick<RestoredTarget, 'redis' | 'keys'>): Promise<RestoreEvent | undefined> {
  return (await readEpoch(redis, keys)).epoch?.event;
}

/**
 * Writes the contacts that {@link reportRestored} counts as CSV, the header first. Memory does not grow
 * with their number.
 *
 * @param decode opens the stored contacts of a chunk
 * @param write takes a piece of the text; answers false to stop
 * @returns how many contacts were written; undefined where Redis never looked like an old copy
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE of the decoder
 */
export async function exportRestored(
  target: RestoredTarget,
  decode: DecodeContacts,
  write: (text: string) => Promise<boolean>,
): Promise<number | undefined> {
  const event = await lastEvent(target);
  if (event === undefined) return undefined;
  let text = csvLine(COLUMNS);
  let contacts = 0;
  for await (const cells of rows(target, event, decode)) {
    text += csvLine(cells);
    contacts += 1;
    if (text.length < PIECE) continue;
    if (!(await write(text))) return contacts;
    text = '';
  }
  await write(text);
  return contacts;
}

async function* rows(
  target: RestoredTarget,
  event: RestoreEvent,
  decode: DecodeContacts,
): AsyncGenerator<string[]> {
  for await (const notice of restoredNotices(target.redis, target.keys, event)) {
    const { id, template, state, handedOverAt } = notice;
    for (const { contact } of notice.contacts) {
      yield [String(contact), template, id, '', '', state, new Date(handedOverAt).toISOString()];
    }
  }
  const { ledger } = target;
  for (const { id, templateCode, chunks, begunAt } of await unsettledBatches(target, event)) {
    const at = new Date(begunAt).toISOString();
    for (let first = 0; first < chunks; first += CHUNKS_PER_READ) {
      const end = Math.min(chunks, first + CHUNKS_PER_READ);
      for (const [index, state] of (await ledger.states(id, first, end)).entries()) {
        if (state === 'settled' || state === 'none') continue;
        const chunk = String(first + index);
        const payload = await ledger.payload(id, chunk);
        // Settled between the two reads.
        if (payload === undefined) continue;
        for (const { contact } of await decode(payload)) {
          yield [String(contact), templateCode, '', id, chunk, state, at];
        }
      }
    }
  }
}

/** Batches begun before the event that are not over. A cancelled one sends nothing any more. */
async function unsettledBatches({ ledger }: RestoredTarget, event: RestoreEvent): Promise<Batch[]> {
  const batches = await ledger.list(MAX_BATCHES);
  return batches.filter(
    ({ begunAt, phase, counts }) =>
      begunAt <= event.at && counts.pending > 0 && phase !== 'cancelled' && phase !== 'finished',
  );
}

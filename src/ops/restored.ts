import { csvLine, writePieces } from '../batch/failures/csv-line.ts';
import { openChunks } from '../batch/failures/failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { readEpoch } from '../fleet/restore/epoch-store.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { waitingNotices, type WaitingNotice } from '../notices/waiting.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { contactsOfPart, type EntrySource } from './entries.ts';

/** Allowance for producers' clocks: listing a newer notice is better than missing one that was sent. */
const CLOCK_SLACK_MS = 120_000;

const COLUMNS = ['contact', 'template', 'notice', 'batch', 'chunk', 'state', 'handed_over_at'];

/** When Redis was last found to be an older copy; undefined where it never was. */
export const lastRestoreEvent = async ({
  redis,
  keys,
}: EntrySource): Promise<RestoreEvent | undefined> => (await readEpoch(redis, keys)).epoch?.event;

/**
 * The single notices that were enqueued before Redis was found to be an older copy and that wait in it: they may have
 * been sent after the copy was made. One that was not due by then cannot have been sent and is left out.
 */
export async function* restoredNotices(
  { redis, keys }: NoticeSource,
  { at }: Pick<RestoreEvent, 'at'>,
): AsyncGenerator<WaitingNotice> {
  const until = at + CLOCK_SLACK_MS;
  const filter = { before: until + 1, dueBefore: until, withActive: true };
  for await (const page of waitingNotices(redis, keys, filter)) yield* page;
}

/** Batches created before the event that are not over. A cancelled batch sends nothing more. */
export async function* unsettledBatches(
  { ledger }: EntrySource,
  { at }: RestoreEvent,
): AsyncGenerator<Batch> {
  for await (const batch of ledger.all({ before: at + 1 })) {
    const { phase, counts } = batch;
    if (counts.pending > 0 && phase !== 'cancelled' && phase !== 'finished') yield batch;
  }
}

/**
 * Writes the contacts that might be sent again as CSV with a header.
 *
 * @param write gets a piece of the text; returns false to stop
 * @returns the number of contacts written
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function exportRestored(
  source: EntrySource,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const event = await lastRestoreEvent(source);
  if (event === undefined) return 0;
  let contacts = 0;
  const lines = async function* () {
    yield csvLine(COLUMNS);
    for await (const cells of rows(source, event)) {
      contacts += 1;
      yield csvLine(cells);
    }
  };
  await writePieces(lines(), write);
  return contacts;
}

async function* rows(source: EntrySource, event: RestoreEvent): AsyncGenerator<string[]> {
  for await (const { id, template, state, queuedAt, data } of restoredNotices(source, event)) {
    for (const { contact } of contactsOfJob(data, id, source.sealing)) {
      yield [contact, template, id, '', '', state, new Date(queuedAt).toISOString()];
    }
  }
  for await (const batch of unsettledBatches(source, event)) {
    const { id, templateCode, begunAt } = batch;
    const at = new Date(begunAt).toISOString();
    for await (const { name, state } of openChunks(source.ledger, batch)) {
      // None where the chunk was settled between the two reads.
      for (const { contact } of (await contactsOfPart(source, batch, name)) ?? []) {
        yield [contact, templateCode, '', id, name, state, at];
      }
    }
  }
}

import { csvLine } from '../batch/failures/csv-line.ts';
import { openChunks } from '../batch/failures/failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { readEpoch } from '../fleet/restore/epoch-store.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import { waitingNotices, type WaitingNotice } from '../notices/waiting.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, type Sealing } from '../payload/seal.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** The account that is read. */
export interface RestoredTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly ledger: Ledger;
  readonly sealing: Sealing;
}

/** Allowance for producers' clocks: listing a newer notice is better than missing one that was sent. */
const CLOCK_SLACK_MS = 120_000;

/** Size of the pieces of text that are written, in characters. */
const PIECE = 32_768;

const COLUMNS = ['contact', 'template', 'notice', 'batch', 'chunk', 'state', 'handed_over_at'];

/** When Redis was last found to be an older copy; undefined where it never was. */
export const lastRestoreEvent = async ({
  redis,
  keys,
}: Pick<RestoredTarget, 'redis' | 'keys'>): Promise<RestoreEvent | undefined> =>
  (await readEpoch(redis, keys)).epoch?.event;

/**
 * The single notices that were enqueued before Redis was found to be an older copy and that wait in it: they may have
 * been sent after the copy was made. One that was not due by then cannot have been sent and is left out.
 */
export async function* restoredNotices(
  { redis, keys }: Pick<RestoredTarget, 'redis' | 'keys'>,
  { at }: Pick<RestoreEvent, 'at'>,
): AsyncGenerator<WaitingNotice> {
  const until = at + CLOCK_SLACK_MS;
  const filter = { before: until + 1, dueBefore: until, withActive: true };
  for await (const page of waitingNotices(redis, keys, filter)) yield* page;
}

/** Batches created before the event that are not over. A cancelled batch sends nothing more. */
export async function* unsettledBatches(
  { ledger }: RestoredTarget,
  event: RestoreEvent,
): AsyncGenerator<Batch> {
  for await (const batch of ledger.all({ before: event.at + 1 })) {
    const { phase, counts } = batch;
    if (counts.pending > 0 && phase !== 'cancelled' && phase !== 'finished') yield batch;
  }
}

/**
 * Writes the contacts that might be sent again as CSV with a header. Memory use does not grow with their number.
 *
 * @param write gets a piece of the text; returns false to stop
 * @returns the number of contacts written
 * @throws NoticeQueueError PAYLOAD_UNREADABLE
 */
export async function exportRestored(
  target: RestoredTarget,
  write: (text: string) => Promise<boolean>,
): Promise<number> {
  const event = await lastRestoreEvent(target);
  if (event === undefined) return 0;
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
  const { ledger, sealing } = target;
  for await (const { id, template, state, queuedAt, data } of restoredNotices(target, event)) {
    for (const { contact } of contactsOfJob(data, id, sealing)) {
      yield [contact, template, id, '', '', state, new Date(queuedAt).toISOString()];
    }
  }
  for await (const batch of unsettledBatches(target, event)) {
    const { id, templateCode, begunAt } = batch;
    const at = new Date(begunAt).toISOString();
    for await (const { name, state } of openChunks(ledger, batch)) {
      const payload = await ledger.payload(id, name);
      // The chunk was settled between the two reads.
      if (payload === undefined) continue;
      for (const { contact } of await decodeContacts(payload, batchSeal(sealing, id))) {
        yield [contact, templateCode, '', id, name, state, at];
      }
    }
  }
}

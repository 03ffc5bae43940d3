import type { Batch } from '../batch/ledger/batch-record.ts';
import { groupFailures, type FailureGroup } from '../batch/failures/failure-groups.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, type Seal, type Sealing } from '../payload/seal.ts';
import { matches, type FailureFilter } from '../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { maskContact } from './mask-contact.ts';

/** Why contacts of a batch were not accepted; its cost does not grow with their number. */
export interface FailureDigest {
  readonly groups: readonly FailureExample[];
  /** False where there are more failures than were read: the groups then cover only a part. */
  readonly complete: boolean;
}

/** A group, with one of its contacts. */
export interface FailureExample extends FailureGroup {
  /** Masked; absent where the contact is deleted or cannot be decrypted here. */
  readonly example?: Readonly<Record<string, string>>;
}

/** Failures that are read at most: some five commands. The counts by state are always exact. */
const MAX_FAILURES = 5_000;
/** Groups that get an example, the biggest first: one command each. */
const MAX_EXAMPLES = 10;

/**
 * Groups the failures of a batch by state and code.
 *
 * @param max failures that are read at most
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function digestFailures(
  { ledger, sealing }: { ledger: Ledger; sealing: Sealing },
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
  max = MAX_FAILURES,
): Promise<FailureDigest> {
  const first = new Map<string, string>();
  let [read, complete] = [0, true];
  async function* limited(id: string): AsyncGenerator<FailureRecord> {
    for await (const failure of ledger.failures(id)) {
      if (read >= max) {
        complete = false;
        return;
      }
      read += 1;
      if (matches(filter, failure) && !first.has(groupName(failure))) {
        first.set(groupName(failure), failure.name);
      }
      yield failure;
    }
  }
  const all = await groupFailures({ failures: limited }, batch, filter);
  // Without all failures, the contacts left pending by a cancel cannot be computed as a rest.
  const groups = complete ? all : all.filter(({ parts }) => parts > 0);
  const shown = await Promise.all(
    groups.map(async (group, index): Promise<FailureExample> => {
      const name = first.get(groupName(group));
      if (index >= MAX_EXAMPLES || name === undefined) return group;
      const payload = await ledger.payload(batch.id, name);
      const example =
        payload === undefined
          ? undefined
          : await openExample(payload, batchSeal(sealing, batch.id));
      return example === undefined ? group : { ...group, example };
    }),
  );
  return { groups: shown, complete };
}

function groupName({ state, code }: { readonly state: string; readonly code: string }): string {
  return `${state} ${code}`;
}

async function openExample(
  payload: Buffer,
  by: Seal,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const [contact] = await decodeContacts(payload, by);
    return contact === undefined ? undefined : maskContact(contact);
  } catch (error) {
    // The ops server may run without the payload keys: it then shows no examples.
    if (error instanceof NoticeQueueError && error.code === 'PAYLOAD_UNREADABLE') return undefined;
    throw error;
  }
}

import type { Batch } from '../batch/ledger/batch-record.ts';
import { groupFailures, type FailureGroup } from '../batch/failures/failure-groups.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { FailureRecord } from '../batch/ledger/ledger-reader.ts';
import type { PayloadKey } from '../batch/payload/payload-key.ts';
import { decodeContacts } from '../batch/payload/payload.ts';
import { matches, type FailureFilter } from '../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { maskContact } from './mask-contact.ts';

/** Why contacts of a batch were not accepted, at a price that does not grow with their number. */
export interface FailureDigest {
  readonly groups: readonly FailureExample[];
  /** False where there are more failures than were looked at: then the groups tell of a part. */
  readonly complete: boolean;
}

/** A group, with one of its contacts. */
export interface FailureExample extends FailureGroup {
  /** Masked; absent where it is gone or cannot be opened here. */
  readonly example?: Readonly<Record<string, string>>;
}

/** Failures looked at: some twenty-five commands. The states' own counts are always exact. */
const MOST_FAILURES = 5_000;
/** Groups that get an example, the biggest first: one command each. */
const MOST_EXAMPLES = 10;

/**
 * @param most failures looked at
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function digestFailures(
  { ledger, payloadKeys }: { ledger: Ledger; payloadKeys: readonly PayloadKey[] },
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
  most = MOST_FAILURES,
): Promise<FailureDigest> {
  const first = new Map<string, string>();
  let [looked, complete] = [0, true];
  async function* some(id: string): AsyncGenerator<FailureRecord> {
    for await (const failure of ledger.failures(id)) {
      if (looked >= most) {
        complete = false;
        return;
      }
      looked += 1;
      if (matches(filter, failure) && !first.has(groupName(failure))) {
        first.set(groupName(failure), failure.name);
      }
      yield failure;
    }
  }
  const all = await groupFailures({ failures: some }, batch, filter);
  // What a cancel left is the rest of a sum, which a part of the failures does not make.
  const groups = complete ? all : all.filter(({ parts }) => parts > 0);
  const shown = await Promise.all(
    groups.map(async (group, index): Promise<FailureExample> => {
      const name = first.get(groupName(group));
      if (index >= MOST_EXAMPLES || name === undefined) return group;
      const payload = await ledger.payload(batch.id, name);
      const example = payload === undefined ? undefined : await openExample(payload, payloadKeys);
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
  keys: readonly PayloadKey[],
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const [contact] = await decodeContacts(payload, keys);
    return contact === undefined ? undefined : maskContact(contact);
  } catch (error) {
    // The ops server may do without the keys: then it shows no examples.
    if (error instanceof NoticeQueueError && error.code === 'PAYLOAD_UNREADABLE') return undefined;
    throw error;
  }
}

import type { Batch } from '../batch/ledger/batch-record.ts';
import { readGroups, type FailureGroup } from '../batch/failures/failure-groups.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, type Seal, type Sealing } from '../payload/seal.ts';
import type { FailureFilter } from '../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { redisTime } from '../redis/server-clock.ts';
import { maskContact } from './mask-contact.ts';

/** Why contacts of a batch were not accepted; its cost does not grow with their number. */
export interface FailureDigest {
  /** When it was read: Redis time, milliseconds since the epoch. A redrive of what failed before sends no more. */
  readonly at: number;
  readonly groups: readonly FailureExample[];
}

/** A group, with one of its contacts. */
export interface FailureExample extends FailureGroup {
  /** Masked; absent where the contact is deleted, sent again, or cannot be decrypted here. */
  readonly example?: Readonly<Record<string, string>>;
}

/** Where failures are read. */
export interface DigestContext {
  readonly ledger: Ledger;
  readonly redis: RedisClient;
  readonly sealing: Sealing;
}

/** Groups that get an example, the biggest first: one command each. */
const MAX_EXAMPLES = 10;

/** Groups the failures of a batch by state and code. */
export async function digestFailures(
  { ledger, redis, sealing }: DigestContext,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureDigest> {
  const at = await redisTime(redis).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const groups = await readGroups(ledger, batch, filter);
  const shown = await Promise.all(
    groups.map(async ({ first, ...group }, index): Promise<FailureExample> => {
      if (index >= MAX_EXAMPLES || first === '') return group;
      const payload = await ledger.payload(batch.id, first);
      const example =
        payload === undefined
          ? undefined
          : await openExample(payload, batchSeal(sealing, batch.id));
      return example === undefined ? group : { ...group, example };
    }),
  );
  return { at: Math.ceil(at), groups: shown };
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

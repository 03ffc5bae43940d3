import { z } from 'zod';
import { readGroups } from '../batch/failures/failure-groups.ts';
import type { FailureFilter } from '../batch/failures/select-failures.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { decodeContacts } from '../payload/chunk-payload.ts';
import { batchSeal, type Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { redisTime } from '../redis/server-clock.ts';
import { failureGroup } from './answers/batch-schemas.ts';
import type { Answer } from './answers/fields.ts';
import { maskContact } from './mask-contact.ts';

/** Why contacts of a batch were not accepted; its cost does not grow with their number. */
export const failureDigest = z.object({
  at: z
    .int()
    .describe(
      'when it was read: milliseconds since the epoch; as `before` of a redrive, nothing else is sent',
    ),
  groups: z.array(
    z.object({
      ...failureGroup.shape,
      example: z
        .record(z.string(), z.string())
        .exactOptional()
        .describe('one contact, masked; absent where it is deleted, or cannot be decrypted here'),
    }),
  ),
});
export type FailureDigest = Answer<z.output<typeof failureDigest>>;
export type FailureExample = FailureDigest['groups'][number];

/** Groups that get an example, the biggest first: one command each. */
const MAX_EXAMPLES = 10;

/** Groups the failures of a batch by state and code. */
export async function digestFailures(
  source: { readonly ledger: Ledger; readonly redis: RedisClient; readonly sealing: Sealing },
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureDigest> {
  const { ledger, redis, sealing } = source;
  const at = await redisTime(redis).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const exampleOf = async (name: string) => {
    const payload = name === '' ? undefined : await ledger.payload(batch.id, name);
    if (payload === undefined) return {};
    try {
      const [contact] = await decodeContacts(payload, batchSeal(sealing, batch.id));
      return contact === undefined ? {} : { example: maskContact(contact) };
    } catch (error) {
      // The ops server may run without the payload keys: it then shows no examples.
      if (error instanceof NoticeQueueError && error.code === 'PAYLOAD_UNREADABLE') return {};
      throw error;
    }
  };
  const groups = await Promise.all(
    (await readGroups(ledger, batch, filter)).map(async ({ first, ...group }, index) => ({
      ...group,
      ...(await exampleOf(index < MAX_EXAMPLES ? first : '')),
    })),
  );
  return { at: Math.ceil(at), groups };
}

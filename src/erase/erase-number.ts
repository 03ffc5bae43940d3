import type { CancelSignal } from '../contracts/token.ts';
import { eraseFingerprints } from '../number-index/chunk-fingerprints.ts';
import { withNotices } from '../notices/send-again.ts';
import { removeEntries } from '../number-index/notice-number-index.ts';
import { appendAudit, withoutNumbers, type Actor } from '../ops/audit.ts';
import { maskNumber } from '../ops/mask-contact.ts';
import { redisFailure } from '../redis/failure.ts';
import type { EraseReport } from './erase-words.ts';
import { eraseNotice } from './erase-notice.ts';
import type { EraseContext, StoredAboutNumber, StoredInIndex } from './find-stored.ts';
import { eraseContacts } from './stored-contacts.ts';
import { readStored } from './stored-notices.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { scanKeys } from '../redis/with-redis.ts';

/** Removes a key that still names this notice: it may have expired, and another notice have it, since it was read. */
const removeKey = defineScript({
  name: 'remove an idempotency key',
  keys: 1,
  lua: `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`,
  parse: Number,
});

/**
 * Removes the idempotency keys of notices whose jobs are deleted already: their values contain a fingerprint of the
 * notice. Scans all keys of the server in steps.
 *
 * @param notices ids of the notices' jobs
 * @returns how many were removed
 */
export async function eraseIdempotencyKeys(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob'>,
  notices: ReadonlySet<string>,
): Promise<number> {
  if (notices.size === 0) return 0;
  let erased = 0;
  for await (const page of scanKeys(redis, `${keys.noticeJob('de:')}*`)) {
    const held = await Promise.all(page.map((key) => redis.get(key)));
    for (const [index, key] of page.entries()) {
      const id = held[index] ?? '';
      if (notices.has(id)) erased += await removeKey(redis, [key], [id]);
    }
  }
  return erased;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The sums while the erasure runs. */
interface Erased {
  readonly notices: Mutable<EraseReport['notices']>;
  readonly batches: Map<string, { waiting: number; ended: number }>;
  readonly left: EraseReport['left'];
}

/**
 * Erases what {@link findStored} found about a number, and records it in the audit stream. Run it again for what
 * is left. What was stored meanwhile is left as it is.
 *
 * @param forms of the number: digits only
 * @param signal stops it between two steps
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE; what was erased before is in
 *   the audit stream
 */
export async function eraseNumber(
  context: EraseContext,
  forms: readonly string[],
  stored: StoredAboutNumber,
  actor: Actor,
  signal?: CancelSignal,
): Promise<EraseReport> {
  const { redis, keys } = context;
  const erased: Erased = {
    notices: { cancelled: 0, removed: 0, shortened: 0 },
    batches: new Map(),
    left: [],
  };
  const masked = maskNumber(forms[0] ?? '');
  let index: EraseReport['index'] = null;
  try {
    await eraseNotices(context, forms, stored, erased, signal);
    await eraseFromBatches(context, forms, stored, erased, signal);
    if (stored.index !== undefined && signal?.aborted !== true) {
      index = await eraseFromIndex(context, forms, stored.index, erased.left);
    }
  } catch (error) {
    throw redisFailure(error);
  } finally {
    const contacts = sumOf(erased);
    const entries = index === null ? 0 : index.notices + index.chunks + index.keys;
    if (contacts + entries > 0) {
      const target = `number ${masked}`;
      const why = withoutNumbers(actor.why);
      const entry = { ...actor, why, what: 'erase', target, as: 'erased', contacts } as const;
      await appendAudit(redis, keys, entry);
    }
  }
  const batches = [...erased.batches].map(([batch, sums]) => ({ batch, ...sums }));
  const { notices, left } = erased;
  const { unreadable } = stored;
  const importing = [...stored.importing];
  const stopped = signal?.aborted === true;
  return {
    number: masked,
    notices,
    batches,
    index,
    left,
    unreadable,
    importing,
    stopped,
  };
}

/** Jobs, chunks and failures from which the number was erased. */
function sumOf({ notices, batches }: Erased): number {
  const { cancelled, removed, shortened } = notices;
  const inBatches = [...batches.values()].map(({ waiting, ended }) => waiting + ended);
  return inBatches.reduce((sum, one) => sum + one, cancelled + removed + shortened);
}

async function eraseNotices(
  context: EraseContext,
  forms: readonly string[],
  stored: StoredAboutNumber,
  { notices, left }: Erased,
  signal: CancelSignal | undefined,
): Promise<void> {
  await withNotices(context.redis, context.keys, async (queue) => {
    for (const { id } of stored.notices) {
      if (signal?.aborted === true) return;
      const became = await eraseNotice({ ...context, queue }, id, forms);
      if (became === 'cancelled' || became === 'removed' || became === 'shortened') {
        notices[became] += 1;
      } else if (became !== 'gone') left.push({ notice: id, reason: became });
    }
  });
}

async function eraseFromBatches(
  context: EraseContext,
  forms: readonly string[],
  stored: StoredAboutNumber,
  { batches, left }: Erased,
  signal: CancelSignal | undefined,
): Promise<void> {
  for (const { batch, name, state } of stored.contacts) {
    if (signal?.aborted === true) return;
    const became = await eraseContacts(context, batch, name, forms);
    if (became === 'erased') {
      const sums = batches.get(batch) ?? { waiting: 0, ended: 0 };
      sums[state === 'waiting' ? 'waiting' : 'ended'] += 1;
      batches.set(batch, sums);
    } else {
      left.push({ batch, chunk: Number.parseInt(name, 10), reason: became });
    }
  }
}

/**
 * Erases what was found in the index, but not what leads to contacts that are still stored: these are found by it, and
 * the entry of a notice names its idempotency key.
 *
 * @param left of a batch that is left the fingerprints are, too: they do not tell to which chunk contacts moved
 */
async function eraseFromIndex(
  context: EraseContext,
  forms: readonly string[],
  { entries, batches }: StoredInIndex,
  left: EraseReport['left'],
): Promise<NonNullable<EraseReport['index']>> {
  const { redis, keys } = context;
  const keepsBatches = new Set(left.map(({ batch }) => batch));
  let chunks = 0;
  for (const { batch, hash, hits } of batches) {
    if (keepsBatches.has(batch)) continue;
    chunks += await eraseFingerprints(redis, keys.batchFind(batch), hits, hash);
  }
  const gone = new Set<string>();
  const kept = new Set<string>();
  for (const { jobId } of entries) {
    const stored = await readStored(context, jobId, forms);
    if (stored === undefined) gone.add(jobId);
    else if (stored.held !== 'no') kept.add(jobId);
  }
  const erasedKeys = await eraseIdempotencyKeys(redis, keys, gone);
  const notices = await removeEntries(
    redis,
    entries.filter(({ jobId }) => !kept.has(jobId)),
  );
  return { notices, chunks, keys: erasedKeys };
}

import type { CancelSignal } from '../contracts/token.ts';
import { eraseFingerprints } from '../number-index/chunk-fingerprints.ts';
import { removeEntries } from '../number-index/notice-number-index.ts';
import { appendAudit, withoutNumbers, type Actor } from '../ops/audit.ts';
import { maskNumber } from '../ops/mask-contact.ts';
import { redisFailure } from '../redis/failure.ts';
import { QUEUE_NAME } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import { eraseNotice } from './erase-notice.ts';
import type { EraseContext, StoredAboutNumber, StoredInIndex } from './find-stored.ts';
import { eraseIdempotencyKeys } from './idempotency-keys.ts';
import { eraseContacts } from './stored-contacts.ts';
import { readData } from './stored-data.ts';
import { holds } from './stored-notices.ts';

/** Why something is left as it is. */
export type LeftReason = 'sending' | 'possibly-sent' | 'changed';

/** What is left as it is. */
export interface LeftStored {
  /** Id of a single notice's job. */
  readonly notice?: string;
  readonly batch?: string;
  readonly chunk?: number;
  readonly reason: LeftReason;
}

/** Result of an erasure. It contains no number in full. */
export interface EraseReport {
  /** The masked number. */
  readonly number: string;
  readonly notices: {
    /** Jobs that waited; they are never sent. */
    readonly cancelled: number;
    /** Jobs that had ended. */
    readonly removed: number;
    /** Jobs with contacts of other people, from which the contact was removed. */
    readonly shortened: number;
  };
  readonly batches: readonly {
    readonly batch: string;
    /** Chunks that waited, from which the contact was removed: it is never sent. */
    readonly waiting: number;
    /** Failures from which the contact was removed. */
    readonly ended: number;
  }[];
  /** Null without FIND_KEY: then the search index was neither read nor changed. */
  readonly index: {
    /** Entries of single notices. */
    readonly notices: number;
    /** Fingerprints of chunks. */
    readonly chunks: number;
    /** Idempotency keys of notices whose jobs were deleted before. */
    readonly keys: number;
  } | null;
  /** What is still stored; run it again later. */
  readonly left: readonly LeftStored[];
  /** What could not be decrypted; it may contain the number. */
  readonly unreadable: StoredAboutNumber['unreadable'];
  /** Batches that are being imported: the rest of their lists may contain the number. */
  readonly importing: readonly string[];
  /** It was stopped by its signal; run it again for the rest. */
  readonly stopped: boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The sums while the erasure runs. */
interface Erased {
  readonly notices: Mutable<EraseReport['notices']>;
  readonly batches: Map<string, { waiting: number; ended: number }>;
  readonly left: LeftStored[];
}

/**
 * Erases what {@link findStored} found about a number, and records it in the audit stream. Run it again for what
 * is left. What was stored meanwhile is left as it is.
 *
 * @param number digits only
 * @param signal stops it between two steps
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE; what was erased before is in
 *   the audit stream
 */
export async function eraseNumber(
  context: EraseContext,
  number: string,
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
  let index: EraseReport['index'] = null;
  try {
    await eraseNotices(context, number, stored, erased, signal);
    await eraseFromBatches(context, number, stored, erased, signal);
    if (stored.index !== undefined && signal?.aborted !== true) {
      index = await eraseFromIndex(context, number, stored.index, erased.left);
    }
  } catch (error) {
    throw redisFailure(error);
  } finally {
    const contacts = sumOf(erased);
    const entries = index === null ? 0 : index.notices + index.chunks + index.keys;
    if (contacts + entries > 0) {
      const target = `number ${maskNumber(number)}`;
      const why = withoutNumbers(actor.why);
      const entry = { ...actor, why, what: 'erase', target, as: 'erased', contacts } as const;
      await appendAudit(redis, keys, entry);
    }
  }
  const batches = [...erased.batches].map(([batch, sums]) => ({ batch, ...sums }));
  const { notices, left } = erased;
  const { unreadable, importing } = stored;
  const stopped = signal?.aborted === true;
  return {
    number: maskNumber(number),
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
  number: string,
  stored: StoredAboutNumber,
  { notices, left }: Erased,
  signal: CancelSignal | undefined,
): Promise<void> {
  const queue = openBullQueue(QUEUE_NAME, context.redis, context.keys);
  try {
    for (const { id } of stored.notices) {
      if (signal?.aborted === true) return;
      const became = await eraseNotice({ ...context, queue }, id, number);
      if (became === 'cancelled' || became === 'removed' || became === 'shortened') {
        notices[became] += 1;
      } else if (became !== 'gone') left.push({ notice: id, reason: became });
    }
  } finally {
    await queue.close().catch(() => {});
  }
}

async function eraseFromBatches(
  context: EraseContext,
  number: string,
  stored: StoredAboutNumber,
  { batches, left }: Erased,
  signal: CancelSignal | undefined,
): Promise<void> {
  for (const { batch, name, state } of stored.contacts) {
    if (signal?.aborted === true) return;
    const became = await eraseContacts(context, batch, name, number);
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
  { redis, keys, sealing }: EraseContext,
  number: string,
  { hash, entries, batches }: StoredInIndex,
  left: readonly LeftStored[],
): Promise<NonNullable<EraseReport['index']>> {
  const keepsBatches = new Set(left.map(({ batch }) => batch));
  let chunks = 0;
  for (const { batch, hits } of batches) {
    if (keepsBatches.has(batch)) continue;
    chunks += await eraseFingerprints(redis, keys.batchFind(batch), hits, hash);
  }
  const gone = new Set<string>();
  const kept = new Set<string>();
  for (const { jobId } of entries) {
    const stored = await readData(redis, keys, jobId);
    if (stored === undefined) gone.add(jobId);
    else if (holds(stored, jobId, number, sealing) !== 'no') kept.add(jobId);
  }
  const erasedKeys = await eraseIdempotencyKeys(redis, keys, gone);
  const notices = await removeEntries(
    redis,
    entries.filter(({ jobId }) => !kept.has(jobId)),
  );
  return { notices, chunks, keys: erasedKeys };
}

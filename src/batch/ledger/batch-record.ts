import type { DeliveryPolicy } from '../../contracts/delivery.ts';

/**
 * What is to be sent to every contact of a batch, and how. Written once, when the batch is begun;
 * an import that goes on with it must bring the same.
 */
export interface BatchPlan {
  /** The body of each send call without its contacts: JSON of the notice's other fields. */
  readonly frame: string;
  readonly templateCode: string;
  /** Contacts of a full chunk. */
  readonly chunkSize: number;
  readonly delivery: DeliveryPolicy;
  /** Milliseconds since the epoch; 0 for never. */
  readonly expiresAt: number;
  /** Contacts a second at most; 0 for no limit. */
  readonly rate: number;
  /** Whether a rejected chunk is halved until the contact that spoils it stands alone. */
  readonly bisect: boolean;
}

/**
 * Where a batch stands as a whole.
 *
 * importing → sending, when its import has ended; importing and sending ⇄ paused, back to sending
 * when the import ended meanwhile; each of them → cancelled, for good; sending → finished, when
 * nothing is pending. A redrive leads from finished to sending, and is refused while it is importing
 * or paused, and once it is cancelled. `finishedAt` of a cancelled batch is set when the attempts
 * that were under way have ended, too.
 */
export type BatchPhase = 'importing' | 'sending' | 'paused' | 'cancelled' | 'finished';

/**
 * Contacts by state; they add up to `total` at every instant, because each script moves them
 * together. `sending` is the part of the pending ones that an attempt has claimed.
 */
export interface BatchCounts {
  readonly total: number;
  readonly pending: number;
  readonly sending: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly expired: number;
  readonly cancelled: number;
  /**
   * Contacts that were sent again after an attempt whose outcome is not known, counted each time: at
   * most so many messages came twice. Not a state.
   */
  readonly maybeTwice: number;
}

/** A batch as it stands in Redis. Times are Redis time, milliseconds since the epoch; 0 for not yet. */
export interface Batch extends BatchPlan {
  readonly id: string;
  readonly phase: BatchPhase;
  readonly counts: BatchCounts;
  readonly begunAt: number;
  readonly importedAt: number;
  readonly finishedAt: number;
  /** How long all of it is kept after its end. */
  readonly retentionMs: number;
  /** When a chunk was last stored, claimed, settled or redriven, or the batch resumed or cancelled. */
  readonly movedAt: number;
  /** Chunks stored so far, and how many of them have been given a job. */
  readonly chunks: number;
  readonly queued: number;
  /** Rows of the source that are in stored chunks. */
  readonly rows: number;
  /** What the import's report said of rows it did not take. */
  readonly refusedRows: number;
  readonly duplicateRows: number;
}

/** The states that add up to the total. */
export const CONTACT_STATES = [
  'pending',
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
] as const;

const PHASES: ReadonlySet<string> = new Set<BatchPhase>([
  'importing',
  'sending',
  'paused',
  'cancelled',
  'finished',
]);

/** A plan as fields and values of the batch's hash, in turn. */
export function planFields(plan: BatchPlan): (string | number)[] {
  const { frame, templateCode, chunkSize, delivery, expiresAt, rate, bisect } = plan;
  const fields = { frame, templateCode, chunkSize, delivery, expiresAt, rate };
  return [...Object.entries(fields).flat(), 'bisect', bisect ? 1 : 0];
}

/** Reads a batch from its hash; undefined when there is none. */
export function batchFrom(id: string, fields: Readonly<Record<string, string>>): Batch | undefined {
  const phase = fields['phase'];
  if (phase === undefined || !PHASES.has(phase)) return undefined;
  const number = (name: string) => Number(fields[name] ?? 0);
  return {
    id,
    phase: phase as BatchPhase,
    frame: fields['frame'] ?? '{}',
    templateCode: fields['templateCode'] ?? '',
    chunkSize: number('chunkSize'),
    delivery: fields['delivery'] === 'at-most-once' ? 'at-most-once' : 'at-least-once',
    expiresAt: number('expiresAt'),
    rate: number('rate'),
    bisect: fields['bisect'] === '1',
    counts: {
      total: number('total'),
      // A chunk that is being sent is still pending to whoever asks what became of it.
      pending: number('pending') + number('sending'),
      sending: number('sending'),
      accepted: number('accepted'),
      rejected: number('rejected'),
      unknown: number('unknown'),
      expired: number('expired'),
      cancelled: number('cancelled'),
      maybeTwice: number('maybeTwice'),
    },
    begunAt: number('begunAt'),
    importedAt: number('importedAt'),
    finishedAt: number('finishedAt'),
    retentionMs: number('retentionMs'),
    movedAt: number('movedAt'),
    chunks: number('chunks'),
    queued: number('queued'),
    rows: number('rows'),
    refusedRows: number('refusedRows'),
    duplicateRows: number('duplicateRows'),
  };
}

import * as z from 'zod';
import { END_STATES, type DeliveryPolicy } from '../../contracts/outcome.ts';
import { storedJson } from '../../redis/stored-json.ts';

/**
 * What is sent to every contact of a batch, and how. Stored once, when the batch is created; an
 * import that continues the batch must have the same plan.
 */
export interface BatchPlan {
  /** JSON of the request body without its contacts. */
  readonly frame: string;
  readonly templateCode: string;
  readonly chunkSize: number;
  readonly delivery: DeliveryPolicy;
  /** Contacts not sent by then expire; milliseconds since the epoch; 0 for never. */
  readonly expiresAt: number;
  /** Contacts per second at most; 0 for no limit. */
  readonly rate: number;
  /** Whether a rejected chunk is split in half until the rejected contact is found. */
  readonly bisect: boolean;
  /**
   * When sending starts, milliseconds since the epoch; 0 for at once, {@link ON_RESUME} for when a person resumes it.
   */
  readonly startAt?: number;
  readonly reading?: ListReading;
}

const listReading = z.object({
  /** Path of the list; empty if it is not a file. */
  file: z.string(),
  bytes: z.number(),
  /**
   * Flags of `notices import` and their values, empty for none. A sender key, which may be a phone number, is
   * REPLACE-BY-THE-KEY.
   */
  flags: z.record(z.string(), z.string()),
});

/** How a list is read, so that its import can be continued. */
export type ListReading = Readonly<z.output<typeof listReading>>;

/** A start that waits for a person. */
export const ON_RESUME = -1;

/**
 * The phase of a batch.
 *
 * importing → sending when its import ends; importing and sending ⇄ paused (resumed to sending if the
 * import ended meanwhile); each of these → cancelled, which is final; sending → finished when nothing
 * is pending. A redrive leads from finished back to sending; it is refused while the batch is
 * importing, paused or cancelled. `finishedAt` of a cancelled batch is set when its last attempts have
 * ended.
 */
export type BatchPhase = (typeof BATCH_PHASES)[number];

export const BATCH_PHASES = ['importing', 'sending', 'paused', 'cancelled', 'finished'] as const;

/**
 * Contacts by state. At any time pending, accepted, rejected, unknown, expired, cancelled and
 * suppressed add up to `total`, because each script changes them together.
 */
export interface BatchCounts {
  readonly total: number;
  readonly pending: number;
  /** The part of `pending` that is being sent right now. */
  readonly sending: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly expired: number;
  readonly cancelled: number;
  /** On the do-not-send list at the moment of sending. */
  readonly suppressed: number;
  /**
   * Contacts sent again after an attempt with an unknown outcome, counted each time: the most messages
   * that can have arrived twice. Not a state.
   */
  readonly possiblySentTwice: number;
}

/** Fields of the Redis hash of a batch that it has as they are. */
const NUMBERS = [
  'chunkSize',
  'expiresAt',
  'rate',
  'startAt',
  // The start that was missed by more than an hour, for which a person decides.
  'startMissedAt',
  // When it was created, when its import ended, and when it ended.
  'begunAt',
  'importedAt',
  'finishedAt',
  // How long it is kept after its end, in milliseconds.
  'retentionMs',
  // When a chunk was last stored, claimed, settled or redriven, or the batch resumed or cancelled.
  'movedAt',
  // With a rate: when the next chunk may be sent, and when a person last changed it.
  'nextAt',
  'rateSetAt',
  // When its jobs were last queued again because it was stalled; the same time is then `movedAt`.
  'restartedAt',
  // Rows of the list up to the last stored chunk.
  'rows',
  // As the import reported them; 0 before its end.
  'refusedRows',
  'duplicateRows',
] as const;
type BatchNumbers = Readonly<Record<(typeof NUMBERS)[number], number>>;

/**
 * A stored batch, without the frame: it may contain a phone number as the sender key, and every output shows a batch as
 * it is read. Times are Redis time, in milliseconds since the epoch; 0 for not yet.
 */
export interface Batch extends Omit<BatchPlan, 'frame' | keyof BatchNumbers>, BatchNumbers {
  readonly id: string;
  readonly phase: BatchPhase;
  readonly counts: BatchCounts;
  readonly chunks: number;
  /** Those that the import stored, without those that redrives and splits added. */
  readonly chunksOfList: number;
  /** How many of them have got a job. */
  readonly queued: number;
}

/**
 * Contacts per second that are expected of a batch: at most its rate, and that where it was changed since. The average
 * since its start may be of times without its limit.
 */
export function expectedSpeed({ rate, rateSetAt }: Batch, average: number): number {
  if (rate === 0) return average;
  return rateSetAt > 0 ? rate : Math.min(average, rate);
}

/** The states that add up to the total. */
export const CONTACT_STATES = ['pending', ...END_STATES] as const;

const PHASES: ReadonlySet<string> = new Set(BATCH_PHASES);
const COUNTS = ['total', 'sending', ...CONTACT_STATES, 'possiblySentTwice'] as const;
/** A plan as fields and values of the batch's Redis hash, alternating. */
export function planFields({
  reading,
  bisect,
  startAt = 0,
  ...plan
}: BatchPlan): (string | number)[] {
  const read = reading === undefined ? {} : { reading: JSON.stringify(reading) };
  return Object.entries({ ...plan, bisect: bisect ? 1 : 0, startAt, ...read }).flat();
}

/** @param mostChunks how many chunks have a state: readers walk over all chunks */
export function batchFrom(
  id: string,
  fields: Readonly<Record<string, string>>,
  mostChunks = Infinity,
): Batch | undefined {
  const phase = fields['phase'];
  if (phase === undefined || !PHASES.has(phase)) return undefined;
  const number = (name: string) => {
    const value = Number(fields[name] ?? 0);
    return Number.isFinite(value) ? value : 0;
  };
  const numbers = <Name extends string>(names: readonly Name[]) =>
    Object.fromEntries(names.map((name) => [name, number(name)])) as Record<Name, number>;
  const chunks = Math.min(mostChunks, number('chunks'));
  const reading = storedJson(listReading, fields['reading']);
  return {
    id,
    phase: phase as BatchPhase,
    templateCode: fields['templateCode'] ?? '',
    delivery: fields['delivery'] === 'at-most-once' ? 'at-most-once' : 'at-least-once',
    bisect: fields['bisect'] === '1',
    counts: {
      ...numbers(COUNTS),
      // Stored separately; to users a contact that is being sent is still pending.
      pending: number('pending') + number('sending'),
    },
    ...(reading === undefined ? {} : { reading }),
    ...numbers(NUMBERS),
    chunks,
    chunksOfList: chunks - number('derived'),
    queued: Math.min(chunks, number('queued')),
  };
}

export interface ImportRecord {
  readonly batch: Batch;
  readonly fingerprint: string;
  /**
   * Digest of the list up to the last stored chunk, or of all of it once it is imported; empty if no chunk is stored.
   */
  readonly digest: string;
}

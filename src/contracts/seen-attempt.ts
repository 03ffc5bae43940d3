import type { HoldKind } from './hold.ts';
import type { OutcomeKind } from './outcome.ts';

/** The two lanes of a worker: single notices, and chunks of batches. */
export const LANES = ['notices', 'chunks'] as const;

/** Name of a lane. */
export type LaneName = (typeof LANES)[number];

/**
 * One attempt that ended, as whoever counts attempts sees it: the traffic record, metrics and
 * traces. It names no job and holds nothing personal. A job that went back unsent without blame is
 * no attempt and is not seen.
 */
export interface SeenAttempt {
  readonly lane: LaneName;
  readonly outcome: OutcomeKind;
  /** The service's code or ours; any text of the service's, so it is no label as it stands. */
  readonly code?: string;
  readonly hold?: HoldKind;
  /** 0 where the job could not be read. */
  readonly contacts: number;
  /** Requests that were put on a connected socket. */
  readonly requests: number;
  /** From the last request on its socket to the end of its answer; absent where none came. */
  readonly answerMs?: number;
  /**
   * From when the job was due to this run of it, holds included. Only with the attempt that ended
   * the wait: absent after a hold, and from the second attempt on.
   */
  readonly waitedMs?: number;
}

import type { HoldKind } from './hold.ts';
import type { OutcomeKind } from './outcome.ts';

/** The two lanes of a worker: single notices, and chunks of batches. */
export const LANES = ['notices', 'chunks'] as const;

/** Name of a lane. */
export type LaneName = (typeof LANES)[number];

/**
 * An attempt that ended, for the traffic record, metrics and traces. Names no job and contains nothing
 * personal. A job that was requeued unsent is no attempt.
 */
export interface SeenAttempt {
  readonly lane: LaneName;
  readonly outcome: OutcomeKind;
  /** The service's code or ours. It may be any text of the service, so do not use it as a label. */
  readonly code?: string;
  readonly hold?: HoldKind;
  /** 0 where the job could not be read. */
  readonly contacts: number;
  /** Contacts by their own outcome, where the answer had a result for each. */
  readonly contactsBy?: Readonly<Partial<Record<OutcomeKind, number>>>;
  /** Requests that were put on a connected socket. */
  readonly requests: number;
  /** Its contacts, if the service may have accepted both this attempt and an earlier one. Default: 0. */
  readonly possiblySentTwice?: number;
  /** Milliseconds from the last request to the end of its answer; absent without an answer. */
  readonly answerMs?: number;
  /**
   * Milliseconds from when the job was due, or was sent again, to this run, holds included. Only for the attempt that ended
   * the wait: absent after a hold, and from the second attempt on.
   */
  readonly waitedMs?: number;
}

import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import type { Hold } from '../../contracts/hold.ts';
import type { ReportedCondition } from './conditions.ts';

/** State that alerts are judged by. Times are Redis time, milliseconds since the epoch. */
export interface AlertSnapshot {
  readonly now: number;
  readonly hold: Hold | undefined;
  readonly workers: number;
  /** Set by the last worker of the fleet when it stops: later rounds may not take place. */
  readonly leaving?: boolean;
  /** Jobs of both queues that a worker could take now. */
  readonly waiting: number;
  /** Single notices whose outcome is unknown. */
  readonly unknownNotices: number;
  /** Single notices that ended in the last ten minutes, by state. */
  readonly ends: NoticeEnds;
  /** Memory of Redis in bytes; a limit of 0 means that it is not known. */
  readonly memory: { readonly used: number; readonly limit: number };
  /** Batch events since the previous round, and the cursor of the next read. */
  readonly batchEvents: readonly BatchEvent[];
  readonly cursor: string;
  /** Read once a minute, because it costs a command for each batch. */
  readonly kept?: KeptSnapshot;
}

/** Numbers of single notices by the state in which they ended. */
export type NoticeEnds = Readonly<Record<'accepted' | 'rejected' | 'unknown' | 'expired', number>>;

/** What is kept until it is resolved or its retention ends. */
export interface KeptSnapshot {
  /** Contacts of batches whose outcome is unknown. */
  readonly unknownContacts: number;
  readonly near: readonly NearSnapshot[];
}

/** What will be deleted soon although it is not resolved. */
export interface NearSnapshot {
  /** Id of the batch; '' for single notices. */
  readonly batch: string;
  /** Contacts of the batch, or notices. */
  readonly count: number;
  readonly keptUntil: number;
}

/** Alerts sent so far. Stored in Redis, so that any process can continue; do not rename its fields. */
export interface AlertMemory {
  /** Time of the previous round. */
  readonly lookedAt: number;
  /** Since when no worker is live; 0 while one is. */
  readonly aloneSince: number;
  /** When {@link AlertSnapshot.kept} was read last. */
  readonly keptSeenAt: number;
  readonly cursor: string;
  /** Reported conditions by name: `workers`, `memory`, `hold:<kind>`, `near:<batch>`, `stalled:<batch>`. */
  readonly told: Readonly<Record<string, ReportedCondition>>;
  /** Unknown outcomes that were reported, and when. */
  readonly unknown: {
    readonly notices: number;
    readonly contacts: number;
    /** Number of contacts in the last round that read batches. */
    readonly seenContacts: number;
    readonly toldAt: number;
  };
}

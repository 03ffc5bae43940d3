import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import type { Hold } from '../../contracts/hold.ts';
import type { ReportedCondition } from './conditions.ts';

/** What one look saw. Times are Redis time, milliseconds since the epoch. */
export interface AlertSnapshot {
  readonly now: number;
  readonly hold: Hold | undefined;
  readonly workers: number;
  /** The last look of a worker that stops: nobody may come after it who would notice. */
  readonly leaving?: boolean;
  /** Jobs that a worker could take now. */
  readonly waiting: number;
  /** Single notices whose outcome is unknown. */
  readonly unknownNotices: number;
  /** In bytes; a limit of 0 is none that is known. */
  readonly memory: { readonly used: number; readonly limit: number };
  /** What became of batches since the last look, and where to go on. */
  readonly batchEvents: readonly BatchEvent[];
  readonly cursor: string;
  /** Seen only now and then, because it costs a command for each batch. */
  readonly kept?: KeptSnapshot;
}

/** What is kept until a person decides or its retention ends. */
export interface KeptSnapshot {
  /** Contacts of batches whose outcome is unknown. */
  readonly unknownContacts: number;
  readonly near: readonly NearSnapshot[];
}

/** What is deleted soon although nobody has decided about it. */
export interface NearSnapshot {
  /** Id of the batch; '' for single notices. */
  readonly batch: string;
  /** Contacts of the batch, or notices. */
  readonly count: number;
  readonly keptUntil: number;
}

/** What was told so far. It lies in Redis, so that whoever looks next goes on with it. */
export interface AlertMemory {
  readonly lookedAt: number;
  /** Since when no worker was seen; 0 where one is. */
  readonly aloneSince: number;
  readonly keptSeenAt: number;
  readonly cursor: string;
  /** By condition: `workers`, `memory`, `hold:<kind>`, `near:<batch>`, `stalled:<batch>`. */
  readonly told: Readonly<Record<string, ReportedCondition>>;
  /** Unknown ones that were told, and when. */
  readonly unknown: {
    readonly notices: number;
    readonly contacts: number;
    /** As of the last look that counted them. */
    readonly seenContacts: number;
    readonly toldAt: number;
  };
}

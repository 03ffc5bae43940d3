import type { Batch, BatchPhase } from '../batch/ledger/batch-record.ts';
import { motionOf } from '../batch/ledger/batch-motion.ts';
import {
  continueImport,
  surroundingsOf,
  type SendingFleet,
} from '../batch/ledger/blocked-reason.ts';

/** A batch that has not ended. */
export interface OpenBatch {
  readonly id: string;
  readonly phase: BatchPhase;
  readonly total: number;
  readonly pending: number;
  /** Why nothing of it is being sent, and what to do; absent where it is being sent. */
  readonly waits?: string;
  /** It makes no progress, and nothing is known that would explain it. */
  readonly stalled: boolean;
  /** No process is importing it, and its list was not read to the end. */
  readonly importStopped: boolean;
  /** The command that continues the import; absent where it has not stopped. */
  readonly continueImport?: string;
}

/** What batches contribute to the state of the account. */
export interface BatchesSummary {
  /** Contacts of all batches that are stored and neither settled nor cancelled. */
  readonly pending: number;
  /** Number of batches that have not ended; this and all below: of the newest that were read. */
  readonly open: number;
  /** The first of them, the newest first. */
  readonly openBatches: readonly OpenBatch[];
  readonly rejected: number;
  /** Contacts whose outcome is unknown and can be resolved. */
  readonly unknown: number;
}

/** What is known of the newest batches. */
export interface NewestBatches {
  /** The newest first. */
  readonly batches: readonly Batch[];
  /** Ids of those that a process is importing. */
  readonly importing: ReadonlySet<string>;
}

/** Open batches that are listed. */
const LISTED = 10;

/**
 * Summarizes the newest batches.
 *
 * @param pending contacts of all batches that wait
 */
export function summarizeBatches(
  { batches, importing }: NewestBatches,
  pending: number,
  fleet: SendingFleet & { readonly now: number },
): BatchesSummary {
  const open = batches.filter(isOpen);
  const sum = (some: readonly Batch[], state: 'rejected' | 'unknown') =>
    some.reduce((total, { counts }) => total + counts[state], 0);
  return {
    pending,
    open: open.length,
    openBatches: open.slice(0, LISTED).map((batch) => {
      const { id, phase, counts } = batch;
      const isImporting = importing.has(id);
      const around = surroundingsOf(fleet, isImporting);
      const { standstill: waits, stalled } = motionOf(batch, around, fleet.now);
      const stopped = batch.importedAt === 0 && phase !== 'cancelled' && !isImporting;
      return {
        id,
        phase,
        total: counts.total,
        pending: counts.pending,
        ...(waits === undefined ? {} : { waits }),
        stalled,
        importStopped: stopped,
        ...(stopped ? { continueImport: continueImport(batch) } : {}),
      };
    }),
    rejected: sum(batches, 'rejected'),
    unknown: sum(batches, 'unknown'),
  };
}

const isOpen = ({ phase, counts }: Batch): boolean =>
  phase !== 'finished' && (phase !== 'cancelled' || counts.pending > 0);

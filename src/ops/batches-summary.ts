import type { Batch, BatchPhase } from '../batch/ledger/batch-record.ts';
import { readMotion } from '../batch/ledger/batch-motion.ts';
import type { LedgerReader } from '../batch/ledger/ledger-reader.ts';
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
  /** Number of batches that have not ended; this, those below and `rejected`: of the newest that were read. */
  readonly open: number;
  /** The first of them, the newest first. */
  readonly openBatches: readonly OpenBatch[];
  readonly rejected: number;
  /** Contacts of all batches whose outcome is unknown and can be resolved. */
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
 * @param ofAll contacts of all batches that wait, and those whose outcome is unknown
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function summarizeBatches(
  ledger: Pick<LedgerReader, 'nextAttempt'>,
  { batches, importing }: NewestBatches,
  { pending, unknown }: Pick<BatchesSummary, 'pending' | 'unknown'>,
  fleet: SendingFleet & { readonly now: number },
): Promise<BatchesSummary> {
  const open = batches.filter(isOpen);
  const openBatches = await Promise.all(
    open.slice(0, LISTED).map(async (batch) => {
      const { id, phase, counts } = batch;
      const isImporting = importing.has(id);
      const around = surroundingsOf(fleet, isImporting);
      const { standstill: waits, stalled } = await readMotion(ledger, batch, around, fleet.now);
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
  );
  const rejected = batches.reduce((sum, { counts }) => sum + counts.rejected, 0);
  return { pending, open: open.length, openBatches, rejected, unknown };
}

const isOpen = ({ phase, counts }: Batch): boolean =>
  phase !== 'finished' && (phase !== 'cancelled' || counts.pending > 0);

import type { Status } from './answers/account-schemas.ts';
import { readGroups, type GroupSource } from '../batch/failures/failure-groups.ts';
import type { Batch } from '../batch/ledger/batch-record.ts';
import { readMotion } from '../batch/ledger/batch-motion.ts';
import type { LedgerReader } from '../batch/ledger/ledger-reader.ts';
import { continueImport, type SendingFleet } from '../batch/ledger/blocked-reason.ts';

export type BatchesSummary = Status['batches'];

/** What is known of the newest batches. */
export interface NewestBatches {
  /** The newest first. */
  readonly batches: readonly Batch[];
  /** Ids of those that a process is importing. */
  readonly importing: ReadonlySet<string>;
}

/** Open batches that are listed. */
const LISTED = 10;

/** Lists with rejected contacts that are named, those rejected throughout and the latest first: a command each. */
const REFUSED = 5;

/** Summarizes the newest batches. @param ofAll contacts of all batches that wait, and those whose outcome is unknown */
export async function summarizeBatches(
  ledger: Pick<LedgerReader, 'nextAttempt'> & GroupSource,
  { batches, importing }: NewestBatches,
  { pending, unknown }: Pick<BatchesSummary, 'pending' | 'unknown'>,
  fleet: SendingFleet & { readonly now: number },
): Promise<BatchesSummary> {
  const open = batches.filter(isOpen);
  const held = new Set(fleet.templateHolds.map(({ template }) => template));
  const openBatches = await Promise.all(
    open.slice(0, LISTED).map(async (batch) => {
      const { id, phase, counts } = batch;
      const isImporting = importing.has(id);
      const around = { ...fleet, importing: isImporting };
      const { standstill: waits, stalled } = await readMotion(ledger, batch, around, fleet.now);
      const stopped = batch.importedAt === 0 && phase !== 'cancelled' && !isImporting;
      return {
        id,
        phase,
        total: counts.total,
        pending: counts.pending,
        ...(waits === undefined ? {} : { waits }),
        stalled,
        ...(held.has(batch.templateCode) ? { heldTemplate: batch.templateCode } : {}),
        importStopped: stopped,
        ...(stopped ? { continueImport: continueImport(batch) } : {}),
      };
    }),
  );
  const rejected = batches.reduce((sum, { counts }) => sum + counts.rejected, 0);
  const refused = await readRefused(ledger, batches);
  return { pending, open: open.length, openBatches, rejected, refused, unknown };
}

async function readRefused(
  ledger: GroupSource,
  batches: readonly Batch[],
): Promise<BatchesSummary['refused']> {
  const isThroughout = ({ counts }: Batch) => Number(counts.rejected === counts.total);
  const some = batches
    .filter(({ counts }) => counts.rejected > 0)
    .sort((a, b) => isThroughout(b) - isThroughout(a) || b.movedAt - a.movedAt)
    .slice(0, REFUSED);
  return Promise.all(
    some.map(async (batch) => {
      const { id, counts, movedAt } = batch;
      const groups = await readGroups(ledger, batch, { state: 'rejected' });
      const { total, rejected } = counts;
      return { id, total, rejected, code: groups[0]?.code ?? '', movedAt };
    }),
  );
}

const isOpen = ({ phase, counts }: Batch): boolean =>
  phase !== 'finished' && (phase !== 'cancelled' || counts.pending > 0);

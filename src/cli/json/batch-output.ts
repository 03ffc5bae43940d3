import { z } from 'zod';
import type { ImportProgress, ImportReport } from '../../batch/import/import-options.ts';
import { BATCH_PHASES, type Batch } from '../../batch/ledger/batch-record.ts';
import { DELIVERY_POLICIES } from '../../contracts/delivery.ts';
import { batchCounts, failureGroup, redriveAnswer } from '../../ops/answers/batch-schemas.ts';
import { count, named, time } from '../../ops/answers/fields.ts';
import {
  cancelAnswer,
  changedAnswer,
  failedGroup,
  jobAnswer,
} from '../../ops/answers/notice-schemas.ts';
import { BATCH_CONTROLS } from '../../ops/batch-actions.ts';

/** Phase of a batch. */
export const batchPhase = z.enum(BATCH_PHASES);

const orNever = count.describe('milliseconds since the epoch; 0 for never or not yet');

const storedBatch = named(
  'StoredBatch',
  z.object({
    id: z.string(),
    phase: batchPhase,
    templateCode: z.string(),
    chunkSize: count,
    delivery: z.enum(DELIVERY_POLICIES),
    expiresAt: orNever,
    rate: count.describe('contacts per second at most; 0 for no limit'),
    bisect: z.boolean(),
    counts: batchCounts,
    begunAt: time,
    importedAt: orNever,
    finishedAt: orNever,
    retentionMs: count,
    movedAt: orNever,
    nextAt: z.number().describe('with a rate: when the next chunk may be sent'),
    restartedAt: orNever,
    chunks: count,
    chunksOfList: count,
    queued: count.describe('chunks that have a job'),
    rows: count,
    refusedRows: count,
    duplicateRows: count,
  }),
) satisfies z.ZodType<Batch>;

const batchView = z.object({
  batch: storedBatch,
  standstill: z.string().optional().describe('why nothing of it is sent'),
  stalled: z.boolean(),
  importStopped: z.boolean(),
  failures: z.array(failureGroup),
});

const sendingLine = z.object({
  event: z.literal('sending'),
  batch: z.string(),
  phase: batchPhase,
  counts: batchCounts,
  perSecond: count,
  standstill: z.string().optional(),
  importStopped: z.literal(true).optional(),
});

const batchLine = batchView.extend({ event: z.literal('batch') });

const importProgress = z.object({
  rows: count,
  contacts: count,
  duplicates: count,
  refused: count,
  bytesRead: count,
  totalBytes: count.optional().describe('absent where the list is not a file'),
  waiting: z.boolean(),
}) satisfies z.ZodType<Omit<ImportProgress, 'totalBytes'>>;

const importReport = z.object({
  batch: z.string(),
  rows: count,
  contacts: count,
  chunks: count,
  duplicates: count,
  refused: count,
  columns: z.object({ sent: z.array(z.string()), leftOut: z.array(z.string()) }),
  normalised: count,
  bytes: count,
  resumed: z.boolean(),
  alreadyImported: z.boolean(),
  dryRun: z.boolean(),
  rejectsFile: z.string().exactOptional(),
  firstRefused: z.array(z.object({ line: z.int(), field: z.string(), reason: z.string() })),
  firstDuplicates: z.array(z.int()),
}) satisfies z.ZodType<ImportReport>;

const controlled = z.object({
  batch: z.string(),
  verb: z.enum(BATCH_CONTROLS),
  done: z.boolean(),
  phase: batchPhase,
});

const notPossible = z.object({ batch: z.string(), done: z.literal(false), reason: z.string() });

/** What the commands of batches write with `--json`. */
export const BATCH_OUTPUT = {
  'import-line': z.union([
    importProgress.extend({
      event: z.literal('importing'),
      perSecond: count,
      restMs: count.optional(),
    }),
    importReport.extend({
      event: z.literal('report'),
      problem: z.string().optional().describe('why the exit code is 1'),
    }),
    sendingLine,
    batchLine,
  ]),
  batches: z.array(storedBatch),
  batch: batchView,
  'batch-line': z.union([sendingLine, batchLine]),
  pause: controlled,
  resume: controlled,
  cancel: z.union([controlled, cancelAnswer]),
  failures: z.union([
    z.object({ batch: z.string(), failures: z.array(failureGroup) }),
    z.object({ notices: z.array(jobAnswer), groups: z.array(failedGroup), total: count }),
  ]),
  redrive: z.union([redriveAnswer, notPossible, changedAnswer]),
};

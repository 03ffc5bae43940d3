import { z } from 'zod';
import { findBatches, type BatchFilter } from '../../batch/ledger/batch-filter.ts';
import { readMotion } from '../../batch/ledger/batch-motion.ts';
import { BATCH_PHASES, CONTACT_STATES, type BatchPhase } from '../../batch/ledger/batch-record.ts';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { writeTime } from '../../format/time.ts';
import { countOf, formatCount, formatDuration, table } from '../../format/format.ts';
import {
  batchAnswer,
  batchReport,
  batchToJson,
  noSuchBatch,
  readBatch,
  requireBatch,
} from '../answers/batch.ts';
import { promoteJobs } from '../../batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME } from '../../redis/keys.ts';
import { appendAudit } from '../audit.ts';
import { readFleet } from '../snapshot.ts';
import { count } from '../../contracts/answer.ts';
import { describeBatch } from '../batch-words.ts';
import { batchId, duration, oneOf, timesOf, whole } from './fields.ts';
import { operation, type OperationContext } from './operation.ts';

const NO_RATE = 'expected a whole number of contacts per second, "off", or spread';

/** Batches that are read for one answer at most; the cost of a rare phase is bounded by it. */
const MOST_READ = 500;

/** Reads a page of batches with one command for each of them and each worker, and six more. */
export async function listBatches(
  { ledger, redis, keys }: OperationContext,
  { limit, offset, ...filter }: BatchFilter & { readonly limit: number; readonly offset: number },
  now: number,
) {
  const { since = 0, before = Infinity } = filter;
  if (since >= before) {
    const problem = 'expected a time earlier than before';
    throw new InputError('REQUEST_INVALID', [{ field: 'since', problem }]);
  }
  const page = { limit, offset, mostRead: MOST_READ };
  const [{ batches, total, next }, fleet] = await Promise.all([
    findBatches(ledger, filter, page),
    readFleet({ redis, keys }, 'workers', 'hold', 'templateHolds', 'sendWindows', 'now'),
  ]);
  const shown = await Promise.all(
    batches.map(async (batch) =>
      batchToJson(batch, now, await readMotion(ledger, batch, fleet, fleet.now)),
    ),
  );
  return { batches: shown, total, next };
}

export const batches = operation({
  name: 'batches',
  help: { group: 'Batches', example: 'notices batches --limit 10' },
  summary: 'The list of batches, newest first.',
  answers: 'A page of the list.',
  needs: 'viewer',
  path: '/api/v1/batches',
  input: z.object({
    phase: oneOf(BATCH_PHASES).optional().describe('only in this phase'),
    ...timesOf('created'),
    offset: whole(0, 1_000_000).default(0).describe('batches that are left out, the newest'),
    limit: whole(1, 200).default(50).describe('most batches'),
  }),
  output: z.object({
    batches: z.array(batchAnswer),
    total: z.int().describe('batches created in that time, of every phase'),
    next: z.int().nullable().describe('offset of the next page; null on the last'),
  }),
  run: (context, input) => listBatches(context, input, Date.now()),
  text: ({ batches: found, total, next }, now) => {
    if (found.length === 0) {
      return [
        total > 0 || next !== null
          ? 'No batch matches.'
          : 'No batches. "notices import FILE --template CODE" creates one.',
      ];
    }
    return [
      ...table([
        ['BATCH', 'PHASE', 'STARTED', 'TEMPLATE', 'TOTAL', ...CONTACT_STATES],
        ...found.map(({ id, phase, begunAt, templateCode, counts }) => [
          id,
          phase,
          writeTime(begunAt, now),
          templateCode,
          formatCount(counts.total),
          ...CONTACT_STATES.map((state) => formatCount(counts[state])),
        ]),
      ]),
      ...(next === null ? [] : [`Older ones: --offset ${next}.`]),
    ];
  },
});

export const batch = operation({
  name: 'batch',
  summary: 'The state of a batch, why nothing of it is sent, and what was not accepted.',
  answers: 'The batch.',
  needs: 'any',
  path: '/api/v1/batches/:id',
  input: z.object({ id: batchId }),
  output: batchReport,
  run: (context, { id }, { role }) => readBatch(context, id, role),
  text: describeBatch,
});

/** Why a phase does not allow an action; follows the name of the batch in a sentence. */
const WHY_NOT: Readonly<Record<BatchPhase, string>> = {
  importing: 'is being imported',
  sending: 'is being sent',
  paused: 'is paused',
  cancelled: 'was cancelled, which is final',
  finished: 'is finished: nothing is pending',
};

/** The phase after an action. @throws NoticeQueueError NOT_FOUND or NOT_POSSIBLE */
function done(
  id: string,
  answer: { readonly done: boolean; readonly phase: BatchPhase } | undefined,
): BatchPhase {
  if (answer === undefined) throw noSuchBatch(id);
  if (answer.done) return answer.phase;
  const detail = `Batch ${id} ${WHY_NOT[answer.phase]}; nothing was done.`;
  throw new NoticeQueueError('NOT_POSSIBLE', detail);
}

/** It applies from the next claim of a chunk on; requests in flight finish. */
function controlOperation<const Name extends string>(
  name: Name,
  verb: 'pause' | 'resume' | 'cancel',
  summary: string,
  words: string,
) {
  return operation({
    name,
    summary,
    answers: 'Done.',
    needs: 'operator',
    why: 'may',
    ...(name === verb ? { help: { group: 'Batches', example: `notices ${verb} spring` } } : {}),
    path: `/api/v1/batches/:id/${verb}`,
    problems: { 409: 'The phase of the batch does not allow it.' },
    input: z.object({ id: batchId }),
    output: z.object({ batch: z.string(), phase: z.enum(BATCH_PHASES) }),
    run: async (context, { id }, call) => {
      const phase = done(id, await context.ledger.control(id, verb));
      const as = verb === 'cancel' ? 'cancelled' : `${verb}d`;
      await appendAudit(context, call, { what: 'batch', target: `batch ${id}`, as });
      return { batch: id, phase };
    },
    text: ({ batch: id }) => [`Batch ${id} ${words}`],
  });
}

export const pauseBatch = controlOperation(
  'pause',
  'pause',
  'Pauses a batch; requests in flight finish.',
  'is paused. Requests in flight finish; no new ones are started.',
);

export const resumeBatch = controlOperation(
  'resume',
  'resume',
  'Resumes a paused batch.',
  'is resumed.',
);

export const changeBatchRate = operation({
  name: 'rate',
  help: { group: 'Batches', example: 'notices rate spring --spread 4h' },
  summary:
    'Changes the rate of a batch while it is sent, waits or is imported; "off" for no limit.',
  answers: 'The new rate.',
  needs: 'operator',
  why: 'may',
  path: '/api/v1/batches/:id/rate',
  args: ['rate'],
  problems: { 409: 'Nothing of the batch waits.' },
  input: z.object({
    id: batchId,
    rate: z
      .union([whole(1, 1_000_000_000), z.literal('off')], NO_RATE)
      .optional()
      .describe('contacts per second; "off" for no limit'),
    spread: duration.optional().describe('instead: so that what waits takes so long'),
  }),
  output: z.object({
    batch: z.string(),
    phase: z.enum(BATCH_PHASES),
    rate: count.describe('contacts per second; 0 for no limit'),
    restMs: z.number().nullable().describe('how long what waits takes at that rate'),
  }),
  run: async (context, { id, rate: given, spread }, call) => {
    if ((given === undefined) === (spread === undefined)) {
      throw new InputError('REQUEST_INVALID', [{ field: 'rate', problem: NO_RATE }]);
    }
    const { counts } = await requireBatch(context, id);
    const spreadRate = Math.ceil((counts.pending * 1_000) / Math.max(1, spread ?? 0));
    const rate = given === 'off' ? 0 : (given ?? Math.max(1, spreadRate));
    const { ledger, redis, keys } = context;
    const phase = done(id, await ledger.control(id, 'rate', rate));
    const { openBullQueue } = await import('../../redis/open-queue.ts');
    const queue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
    try {
      // Jobs that wait for turns of the old rate are made due.
      await promoteJobs(queue, id);
    } finally {
      await queue.close();
      const as = rate === 0 ? 'no rate' : `rate ${rate}`;
      await appendAudit(context, call, { what: 'batch', target: `batch ${id}`, as });
    }
    const restMs = rate === 0 ? null : (counts.pending / rate) * 1_000;
    return { batch: id, phase, rate, restMs };
  },
  text: ({ batch: id, rate, restMs }) => [
    restMs === null
      ? `Batch ${id} is sent without a limit of its own.`
      : `Batch ${id} is sent at ${formatCount(rate)}/s: ${formatDuration(restMs)} for what waits.`,
  ],
});

export const cancelBatch = operation({
  ...controlOperation(
    'batch cancel',
    'cancel',
    'Cancels a batch: pending contacts are never sent. It cannot be undone.',
    'is cancelled. Requests in flight finish; its pending contacts are never sent.',
  ),
  preview: async (context, input) => {
    const { id, phase, counts } = await requireBatch(context, input.id);
    const isOver = phase === 'finished' || phase === 'cancelled';
    const question = `Cancel batch ${id}? ${formatCount(counts.pending)} of ${countOf(counts.total, 'contact')} would never be sent.`;
    return { lines: [], question: isOver ? undefined : question, input };
  },
});

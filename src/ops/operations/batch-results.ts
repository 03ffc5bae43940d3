import { z } from 'zod';
import { RESULT_STATES, rowResults, writeResults } from '../../batch/failures/row-results.ts';
import { countOf, formatCount, table } from '../../format/format.ts';

import { rowsOfPayload } from '../../payload/chunk-payload.ts';
import { batchSeal } from '../../payload/seal.ts';
import { requireBatch } from '../answers/batch.ts';
import { batchId, whole } from './fields.ts';
import { operation, type OperationContext } from './operation.ts';

/** The results of a batch that exists. @throws NoticeQueueError BATCH_NOT_FOUND */
export async function resultsOf(context: OperationContext, id: string, signal?: AbortSignal) {
  const found = await requireBatch(context, id);
  const seal = batchSeal(context.sealing, id);
  return rowResults(context.ledger, found, (payload) => rowsOfPayload(payload, seal), signal);
}

export const batchResults = operation({
  name: 'batch results',
  summary: 'What became of each row of a list.',
  answers: 'Rows with the same result, one after the other, in the order of the list.',
  needs: 'viewer',
  path: '/api/v1/batches/:id/results',
  perMinute: 6,
  input: z.object({
    id: batchId,
    after: whole(0, 1_000_000_000).default(0).describe('only rows after this one'),
    limit: whole(1, 10_000)
      .default(1_000)
      .describe(
        'most entries; over HTTP 6 answers a minute: for a whole list take 10000, or the CSV',
      ),
  }),
  output: z.object({
    batch: z.string(),
    rows: z.int().describe('rows of the list'),
    found: z.int().describe('rows with a result: fewer where contacts cannot be decrypted'),
    states: z.record(z.string(), z.int()).describe('rows by state'),
    results: z.array(
      z.object({
        from: z.int().describe('number of the first row, as a spreadsheet counts them'),
        to: z.int().describe('number of the last row'),
        state: z.enum(RESULT_STATES),
        code: z.string().describe('why it was not accepted; empty for other rows'),
        message: z.string(),
        at: z.int().describe('milliseconds since the epoch; 0 for what waits'),
        traceId: z.string().describe('of the service; empty where it named none'),
      }),
    ),
    next: z.int().nullable().describe('`after` of the next page; null on the last'),
  }),
  problems: {
    409: 'The list is too large to be read in the time of a request: its CSV has no limit.',
  },
  run: async (context, { id, after, limit }, { signal }) => {
    const { results, rows, found } = await resultsOf(context, id, signal);
    const states: Record<string, number> = {};
    for (const { from, to, state } of results) states[state] = (states[state] ?? 0) + to - from + 1;
    const later = results.filter(({ to }) => to > after);
    const page = later
      .slice(0, limit)
      .map((one) => ({ ...one, from: Math.max(one.from, after + 1) }));
    const next = later.length > limit ? (page.at(-1)?.to ?? null) : null;
    return { batch: id, rows, found, states, results: page, next };
  },
  text: ({ rows, found, states }) => [
    ...table([
      ['rows', formatCount(rows)],
      ...RESULT_STATES.flatMap((state) => {
        const count = states[state] ?? 0;
        return count === 0 ? [] : [[`  ${state}`, formatCount(count)]];
      }),
    ]),
    ...(found < rows ? [`${countOf(rows - found, 'row')} without a result.`] : []),
    'Add --csv for one line for each row, or FILE.csv to write them after the columns of the list.',
  ],
  csv: {
    summary: 'One line for each row of the list: its number, state, code, time and trace id.',
    open: async (context, { id }) => {
      const results = await resultsOf(context, id);
      return {
        entry: { what: 'download', target: `batch ${id}`, as: 'results' },
        fileName: `${id}-results.csv`,
        produce: async (write) => ({ contacts: await writeResults(results, undefined, write) }),
      };
    },
  },
});

import { z } from 'zod';
import { withAbortSignal, Deadline } from '../../../async/cancellation.ts';
import { metaOf, why as reason } from '../../operations/fields.ts';
import {
  MOST_MS,
  isChange,
  paramsOf,
  runParsed,
  type Operation,
} from '../../operations/operation.ts';
import type { OpsContext } from '../ops-context.ts';
import { csvDownload } from './csv-download.ts';
import { json, route, type AnswerDoc, type Route } from './route.ts';

/** The routes of an operation: what changes something is a POST, and an export has one of its own. */
export function operationRoutes(row: Operation): Route[] {
  return [operationRoute(row), ...exportRoute(row)];
}

/** Downloads per caller and minute. */
const DOWNLOADS_PER_MINUTE = 30;

function exportRoute(row: Operation): Route[] {
  const { csv, path } = row;
  if (csv === undefined) return [];
  const plain = operationRoute(row);
  return [
    {
      ...plain,
      path: `${path}.csv`,
      needs: 'operator',
      summary: csv.summary,
      perMinute: DOWNLOADS_PER_MINUTE,
      answers: { 200: { says: 'The list.', type: 'text/csv' } },
      handle: async ({ params, query, name }, context) => {
        const input = { ...(params as object), ...(query as object) };
        return csvDownload(
          context,
          await csv.open(context, input as never, { who: name, why: '' }),
        );
      },
    },
  ];
}

/** The route of an operation itself: what changes something is a POST with a body, all else a GET with a query. */
function operationRoute(row: Operation): Route {
  const { summary, needs, path, answers: says, input, output, problems = {}, perMinute } = row;
  const names = new Set(paramsOf(row));
  const fields = Object.entries(input.shape);
  const inPath = Object.fromEntries(fields.filter(([name]) => names.has(name)));
  const isPost = isChange(row) || row.hidesInput === true;
  // A phone number is never part of a URL.
  const isSent = (field: unknown) => isPost || metaOf(field, 'takes') !== 'phone number';
  const others = Object.fromEntries(
    fields.filter(([name, field]) => !names.has(name) && isSent(field)),
  );
  const params = names.size === 0 ? undefined : z.strictObject(inPath);
  const refusals: Record<number, AnswerDoc> = Object.fromEntries(
    Object.entries(problems).map(([status, text]) => [status, { says: text }]),
  );
  return route({
    method: isPost ? 'POST' : 'GET',
    path,
    needs,
    kind: 'api',
    summary,
    ...(row.hidesInput === true ? { reads: true } : {}),
    ...(perMinute === undefined
      ? {}
      : { perMinute: perMinute === 'notices' ? ofNotices : perMinute }),
    ...(params === undefined ? {} : { params }),
    ...(isPost
      ? { body: z.strictObject({ ...others, ...(isChange(row) ? whyField(row) : {}) }) }
      : { query: z.object(others) }),
    answers: { 200: { says, schema: output }, ...refusals },
    handle: async ({ params: own, query, body, name, who }, context) => {
      const { why = '', ...rest } = { ...own, ...query, ...body } as { why?: string };
      const call = { who: name, why, role: who?.role };
      const deadline = new Deadline(MOST_MS, context.closing);
      try {
        return await withAbortSignal(deadline, async (signal) => {
          const asked = { ...call, signal, closing: context.closing, bounded: true };
          const answer = await runParsed(row, context, rest, asked);
          return json(answer, 200, isChange(row) ? wordsOf(row, answer) : undefined);
        });
      } finally {
        deadline.close();
      }
    },
  });
}

/** What was done, for the page that follows a form: what its command would print, else the numbers of the answer. */
function wordsOf({ text }: Operation, answer: unknown): string {
  if (text !== undefined) return text(answer as never, Date.now()).join(' ');
  const counts = Object.entries(answer as Readonly<Record<string, unknown>>).filter(
    ([, value]) => typeof value === 'number' && value > 0,
  );
  return `Done: ${counts.map(([name, value]) => `${String(value)} ${name}`).join(', ') || 'nothing'}.`;
}

const ofNotices = ({ config }: OpsContext) => config.noticesPerMinute;

function whyField({ why, maxWhy }: Operation): z.ZodRawShape {
  const field = maxWhy === undefined ? reason : reason.max(maxWhy);
  return { why: why === 'may' ? field.optional() : field };
}

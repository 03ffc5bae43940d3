import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { withAbortSignal, Deadline } from '../../../async/cancellation.ts';
import { appendAudit } from '../../audit.ts';
import { metaOf, why as reason } from '../../operations/fields.ts';
import {
  MOST_MS,
  isChange,
  type Operation,
  type OperationExport,
} from '../../operations/operation.ts';
import { headerOf } from '../access/access.ts';
import { sayNext } from './register-routes.ts';
import { redirect, type AnswerDoc, type Route } from './route.ts';

const DOWNLOADS_PER_MINUTE = 30;

/** The routes of an operation: what changes something is a POST with a body, and an export has one of its own. */
export function operationRoutes(row: Operation): Route[] {
  const { summary, needs, path, answers: says, input, output, problems = {}, perMinute, csv } = row;
  const refusals: Record<number, AnswerDoc> = Object.fromEntries(
    Object.entries(problems).map(([status, text]) => [status, { says: text }]),
  );
  const isPost = isChange(row) || row.hidesInput === true;
  const plain: Route = {
    method: isPost ? 'POST' : 'GET',
    path,
    needs,
    kind: 'api',
    summary,
    ...(row.hidesInput === true ? { reads: true } : {}),
    perMinute,
    input: isPost ? z.strictObject({ ...input.shape, ...whyField(row) }) : inUrl(input),
    answers: { 200: { says, schema: output }, ...refusals },
    handle: async ({ input: given, name, who, next, request, reply }, context) => {
      const { why = '', ...rest } = given as { why?: string };
      const { closing } = context;
      const deadline = new Deadline(MOST_MS, closing);
      try {
        const answer = await withAbortSignal(deadline, async (signal) => {
          const call = { who: name, why, role: who?.role, signal, closing, bounded: true };
          return row.run(context, rest, call);
        });
        // The script of the page repeats what has no time for all: it sends how many were done so far.
        const done = Number(headerOf(request, 'x-done'));
        const isPart = (answer as { complete?: unknown }).complete === false;
        if (next === undefined || done > 0 || (done === 0 && isPart)) return answer;
        // What its command would print.
        sayNext(reply, row.text?.(answer, Date.now(), rest).join(' ') ?? 'Done.');
        return redirect(reply, next);
      } finally {
        deadline.close();
      }
    },
  };
  if (csv === undefined) return [plain];
  const download: Route = {
    ...plain,
    path: `${path}.csv`,
    needs: 'operator',
    summary: csv.summary,
    perMinute: DOWNLOADS_PER_MINUTE,
    answers: { 200: { says: 'The list.', type: 'text/csv' } },
    handle: async ({ input: given, name, reply }, context) => {
      const actor = { who: name, why: '' };
      const list = await csv.open(context, given as never, actor);
      await appendAudit(context, actor, list.entry);
      return csvDownload(reply, list);
    },
  };
  return [plain, download];
}

/** A phone number is never part of a URL. */
function inUrl({ shape }: z.ZodObject): z.ZodObject {
  const fields = Object.entries(shape);
  const sent = fields.filter(([, field]) => metaOf(field, 'takes') !== 'phone number');
  return z.strictObject(Object.fromEntries(sent));
}

function whyField({ why, maxWhy }: Operation): z.ZodRawShape {
  if (why === undefined) return {};
  const field = maxWhy === undefined ? reason : reason.max(maxWhy);
  return { why: why === 'may' ? field.optional() : field };
}

/** A CSV file that is written while it is downloaded. */
function csvDownload(
  reply: Pick<FastifyReply, 'headers'>,
  { fileName, produce }: OperationExport,
): PassThrough {
  void reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
  const body = new PassThrough();
  const write = async (text: string) => {
    if (body.destroyed) return false;
    // A slow client slows the reading; a closed connection ends it.
    if (!body.write(text)) await drained(body);
    return !body.destroyed;
  };
  produce(write).then(
    () => body.end(),
    // Aborts the download, so that an incomplete list is not taken for the whole.
    (error: unknown) => body.destroy(error instanceof Error ? error : new Error('failed')),
  );
  return body;
}

/** Resolves when the stream takes more, or has been closed; leaves no listener behind. */
function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

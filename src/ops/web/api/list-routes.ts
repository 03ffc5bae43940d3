import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { importReport, listQuery } from '../../../batch/import/import-options.ts';
import { ImportError } from '../../../contracts/errors.ts';
import { appendAudit, type AuditEntry } from '../../audit.ts';
import { TooManyRequests } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

/** Lists that a server imports at a time: each has a connection to Redis and some megabytes of rows. */
const MOST_IMPORTS = 2;
const RETRY_AFTER_S = 10;

/** A body of which nothing comes for so long is cut off, in milliseconds. Time in which it is not read does not count. */
const SILENCE_MS = 60_000;

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

/** Lists over HTTP: the import of the library, with the body as its source. */
export const LIST_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/batches',
    needs: 'sender-or-operator',
    kind: 'api',
    summary:
      'Imports a list of any length, while its body arrives. The same request with its batchId continues one that was cut off.',
    input: listQuery,
    streams: [CSV, NDJSON],
    answers: {
      200: { says: 'The list is queued, as far as its rows are valid.', schema: importReport },
      409: { says: 'The list was imported before, or the batch has another one.' },
      415: { says: 'The body is neither CSV nor NDJSON.' },
      422: {
        says: 'The list or its options are invalid; `queued` contacts of `batch` are queued.',
      },
    },
    handle: async ({ input, name: who, request }, context) => {
      const { notices, imports } = context;
      if (imports.running >= MOST_IMPORTS) {
        const detail = `This server imports ${MOST_IMPORTS} lists already, the most at a time.`;
        throw new TooManyRequests(RETRY_AFTER_S, detail);
      }
      const record = async (batch: string, as: AuditEntry['as'], contacts: number) => {
        const entry = { what: 'import', target: `batch ${batch}`, as, contacts } as const;
        await appendAudit(context, { who, why: '' }, entry);
      };
      const { raw } = request;
      const cut = new AbortController();
      raw.once('close', () => {
        if (!raw.complete) cut.abort();
      });
      imports.running += 1;
      try {
        const type = request.headers['content-type']?.trim().toLowerCase() ?? '';
        const format = type.startsWith(CSV) ? 'csv' : 'ndjson';
        const options = { ...input, format, signal: cut.signal } as const;
        const report = await notices.import(readableOf(raw), options);
        if (!report.dryRun && !report.alreadyImported) {
          await record(report.batch, 'imported', report.contacts);
        }
        return report;
      } catch (error) {
        const isQueued = error instanceof ImportError && error.queued > 0;
        if (isQueued) await record(error.batch, 'stopped', error.queued);
        throw error;
      } finally {
        imports.running -= 1;
      }
    },
  }),
];

/** The bytes of a body, which stays open when no more of it is read: its caller waits for an answer. */
export function readableOf(body: IncomingMessage | Readable, silenceMs = SILENCE_MS): Readable {
  return Readable.from(piecesOf(body, silenceMs), { objectMode: false });
}

async function* piecesOf(body: Readable, silenceMs: number): AsyncGenerator<Buffer, void> {
  const wait = () => setTimeout(() => body.destroy(new Error('silent')), silenceMs);
  let timer = wait();
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      yield piece as Buffer;
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
  }
}

import { OPS_ROUTES } from '../../../../src/ops/web/http/route-table.ts';

/** What the board asks for when it shows the waiting jobs; its pages are its own files. */
const BOARD = '/queues/api/queues?activeQueue=send&status=waiting';

/** Paths that need a query. */
const QUERIES: Readonly<Record<string, string>> = {
  '/api/v1/notices': '/api/v1/notices?idempotencyKey=k',
};

/** Downloads read all there is, piece by piece. */
const isDownload = (path: string) => path.endsWith('.csv');

/**
 * A path of each page and each answer of the program's own table that reads from Redis and ends: not downloads, which read all that match.
 *
 * @param id of a batch that exists
 */
export function readPaths(id: string): string[] {
  const read = OPS_ROUTES.filter(({ method, needs, path }) => {
    return method === 'GET' && needs !== 'open' && !isDownload(path);
  });
  return [...read.map(({ path }) => QUERIES[path] ?? path.replace(':id', id)), BOARD];
}

/** The kind of answer that a person or a program wants from a path. */
export function acceptOf(path: string): string {
  return path.startsWith('/api') ? 'application/json' : 'text/html';
}

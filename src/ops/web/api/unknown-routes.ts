import { z } from 'zod';
import { whole } from '../../operations/fields.ts';
import { unknownNotice } from '../../answers/unknown-schemas.ts';
import { unknownCsv, unknownDownload } from '../../unknown/unknown-csv.ts';
import { listUnknown, unknownFilter, unknownQuery } from '../../unknown/unknown-list.ts';
import { csvDownload } from '../http/csv-download.ts';
import { json, route, type Route } from '../http/route.ts';

const MAX_IDS = 500;

const AT = z
  .int()
  .describe(
    'when it was read: as `before` of the decision it leaves out what became unknown later',
  );

/** Unknown outcomes, and resolving them. */
export const UNKNOWN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/unknown',
    needs: 'viewer',
    kind: 'api',
    summary: 'Notices and contacts of batches whose outcome is unknown.',
    query: z.object({ limit: whole(1, MAX_IDS).default(100) }),
    answers: {
      200: {
        says: 'The oldest notices, and those of the newest 200 batches with unknown contacts.',
        schema: z.object({
          at: AT,
          notices: z.array(
            unknownNotice.extend({
              numbers: z
                .array(z.string())
                .describe('the first of them, masked; none where this server lacks the key'),
            }),
          ),
          listed: z.int().describe('listed notices in all'),
          batches: z.array(
            z.object({
              batch: z.string(),
              template: z.string(),
              contacts: z.int(),
              begunAt: z.int().describe('when its import started: milliseconds since the epoch'),
            }),
          ),
          allBatches: z
            .boolean()
            .describe('whether that is all; if not, older batches may have unknown contacts'),
        }),
      },
    },
    handle: async ({ query: { limit } }, context) => json(await listUnknown(context, limit)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/unknown.csv',
    needs: 'operator',
    kind: 'api',
    summary:
      'The contacts whose outcome is unknown, with trace ids, to look them up at the service. It contains phone numbers; each download is recorded in the audit stream.',
    query: unknownQuery,
    answers: { 200: { says: 'The list.', type: 'text/csv' } },
    perMinute: 30,
    handle: async ({ query, name }, context) => {
      const filter = unknownFilter(query);
      const entry = unknownDownload(filter, { who: name, why: '' });
      return csvDownload(context, {
        entry,
        fileName: 'unknown.csv',
        produce: async (write) => ({ contacts: await unknownCsv(context, filter, write) }),
      });
    },
  }),
];

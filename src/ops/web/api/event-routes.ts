import { z } from 'zod';
import { BATCH_ID } from '../../../contracts/chunk-job.ts';
import { route, type Route } from '../http/route.ts';

/** What goes on, as it happens. */
export const EVENT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/events',
    needs: 'viewer',
    kind: 'api',
    summary:
      'Server-sent events, once a second: `status` (Status), `batch` (Batch, where one was asked for), `batch-event` (what became of a batch), and `trouble` (cause, since) while Redis is away.',
    query: z.object({ batch: z.string().regex(BATCH_ID).optional() }),
    answers: { 200: { says: 'A stream without end.', type: 'text/event-stream' } },
    perMinute: 120,
    handle: ({ query }) => ({ kind: 'events', question: query }),
  }),
];

import { z } from 'zod';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { readTraffic } from '../../../traffic/traffic.ts';
import { json, route, type Route } from '../http/route.ts';

const number = z.int().min(0);
const laneCounts = z.object({
  requests: number.describe('send requests'),
  accepted: number.describe('contacts that the service accepted'),
});
const lanes = { notices: laneCounts, chunks: laneCounts };

/** Traffic over time, and metrics. */
export const TRAFFIC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/traffic',
    needs: 'viewer',
    kind: 'api',
    summary: 'Requests, and contacts that were accepted, of each minute of the last three hours.',
    answers: {
      200: {
        says: 'The minutes and their sums.',
        schema: z.object({
          at: number,
          minutes: z
            .array(
              z
                .object({
                  at: number.describe('its start: milliseconds since the epoch'),
                  ...lanes,
                })
                .meta({ id: 'TrafficMinute' }),
            )
            .describe('oldest first; the last one is not over yet'),
          total: z.object(lanes),
        }),
      },
    },
    handle: async (_call, { redis, keys }) => json(await readTraffic(redis, keys)),
  }),
  route({
    method: 'GET',
    path: '/metrics',
    needs: 'viewer',
    kind: 'api',
    summary: 'The metrics of the account for Prometheus; workers have their own.',
    answers: { 200: { says: 'The metrics.', type: METRICS_CONTENT_TYPE } },
    handle: async (_call, { metrics }) => ({
      kind: 'file',
      type: METRICS_CONTENT_TYPE,
      body: Buffer.from(await metrics.text()),
    }),
  }),
];

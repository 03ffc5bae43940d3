import { z } from 'zod';
import { OUTCOME_KINDS } from '../../../contracts/outcome.ts';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { readTraffic, TRAFFIC_MINUTES, type Traffic } from '../../../traffic/read-traffic.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { queryNumber } from './inputs.ts';

/** Points of a chart, whatever its period. */
const POINTS = 180;

const number = z.int().min(0);
const byOutcome = z.record(z.enum(OUTCOME_KINDS), number);
const accepted = z.object({ accepted: number, contactsAccepted: number });
const percentiles = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number(), count: number })
  .optional();

const pointAnswer = z
  .object({
    at: number.describe('start of the span: milliseconds since the epoch'),
    spanMs: z
      .number()
      .describe('length of the span in milliseconds; the last one of a series is not over yet'),
    requests: number.describe('send requests'),
    attempts: byOutcome.describe('attempts by outcome'),
    contacts: byOutcome.describe('contacts by outcome of their attempt'),
    lanes: z.object({ notices: accepted, chunks: accepted }),
    possiblySentTwice: number.describe(
      'contacts sent again although the service may have accepted an earlier request; some may be missing after a crash, the status has the exact number',
    ),
    answerMs: percentiles.describe('response time of the service, in milliseconds'),
    queueWaitMs: percentiles.describe('time from when jobs were due to their first attempt'),
    tokenWaitMs: percentiles,
  })
  .meta({ id: 'TrafficPoint' });

/** Traffic over time, and metrics. */
export const TRAFFIC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/traffic',
    needs: 'viewer',
    kind: 'api',
    summary: 'Traffic over time: requests, attempts and contacts by outcome, durations.',
    query: z.object({ minutes: queryNumber(1, TRAFFIC_MINUTES, 180) }),
    answers: {
      200: {
        says: `The requested minutes in at most ${POINTS} points, the last ten minutes, and now.`,
        schema: z.object({
          at: number,
          now: pointAnswer.describe('the last complete half minute'),
          recent: z.array(pointAnswer).describe('the last ten minutes, in steps of ten seconds'),
          series: z.array(pointAnswer).describe('oldest first'),
          total: pointAnswer.describe('all of `series` in one'),
        }),
      },
    },
    handle: async ({ query: { minutes } }, context) => json(await trafficOf(context, minutes)),
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

/** Reads the traffic record, with few enough points for a chart. */
export async function trafficOf(
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  minutes: number,
): Promise<Traffic> {
  const minutesPerPoint = Math.ceil(minutes / POINTS);
  return readTraffic(redis, keys, { minutes, minutesPerPoint });
}

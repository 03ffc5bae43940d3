import { z } from 'zod';
import { OUTCOME_KINDS } from '../../../contracts/outcome.ts';
import { METRICS_CONTENT_TYPE } from '../../../metrics/fleet-metrics.ts';
import { readTraffic, TRAFFIC_MINUTES, type Traffic } from '../../../traffic/read-traffic.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { queryNumber } from './inputs.ts';

/** A chart gets about so many points, however far it goes back. */
const POINTS = 180;

const number = z.int().min(0);
const byOutcome = z.record(z.enum(OUTCOME_KINDS), number);
const accepted = z.object({ accepted: number, contactsAccepted: number });
const percentiles = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number(), count: number })
  .optional();

const pointAnswer = z
  .object({
    at: number.describe('beginning of the span: milliseconds since the epoch'),
    spanMs: z.number().describe('length of the span; the last of a series is not over yet'),
    requests: number.describe('requests put on a connected socket'),
    attempts: byOutcome.describe('attempts by outcome'),
    contacts: byOutcome.describe('contacts by outcome of their attempt'),
    lanes: z.object({ notices: accepted, chunks: accepted }),
    answerMs: percentiles.describe('how long the service took to answer, in milliseconds'),
    queueWaitMs: percentiles.describe('how long jobs were due before their first attempt'),
    tokenWaitMs: percentiles,
  })
  .meta({ id: 'TrafficPoint' });

/** What the workers did, over time. */
export const TRAFFIC_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/traffic',
    needs: 'viewer',
    kind: 'api',
    summary: 'What was sent over time: requests, attempts and contacts by outcome, durations.',
    query: z.object({ minutes: queryNumber(1, TRAFFIC_MINUTES, 180) }),
    answers: {
      200: {
        says: `The minutes asked for, in about ${POINTS} points at most; the last ten minutes; now.`,
        schema: z.object({
          at: number,
          now: pointAnswer.describe('the last half minute that is over'),
          recent: z.array(pointAnswer).describe('the last ten minutes, in steps of ten seconds'),
          series: z.array(pointAnswer).describe('the oldest first'),
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
    summary: 'The metrics of the account, for Prometheus; workers tell of themselves.',
    answers: { 200: { says: 'The metrics.', type: METRICS_CONTENT_TYPE } },
    handle: async (_call, { metrics }) => ({
      kind: 'file',
      type: METRICS_CONTENT_TYPE,
      body: Buffer.from(await metrics.text()),
    }),
  }),
];

/** The traffic record, cut so that a chart can take it. */
export async function trafficOf(
  { redis, keys }: Pick<OpsContext, 'redis' | 'keys'>,
  minutes: number,
): Promise<Traffic> {
  const minutesPerPoint = Math.ceil(minutes / POINTS);
  return readTraffic(redis, keys, { minutes, minutesPerPoint });
}

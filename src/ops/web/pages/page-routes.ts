import { z } from 'zod';
import { checkNumber } from '../../../batch/source/check-number.ts';
import { whyNotRedrive } from '../../../batch/failures/redrive-batch.ts';
import { readAudit } from '../../audit.ts';
import { digestFailures } from '../../failure-digest.ts';
import { readBatchSnapshot } from '../../batch-snapshot.ts';
import { TRAFFIC_MINUTES } from '../../../traffic/read-traffic.ts';
import { readUnknownOverview } from '../../unknown.ts';
import { batchToJson, statusToJson } from '../answers.ts';
import { listBatches, noSuchBatch } from '../api/batch-routes.ts';
import { canFind, findFor, FINDS_PER_MINUTE } from '../api/find-routes.ts';
import { batchParams, queryNumber } from '../api/inputs.ts';
import { trafficOf } from '../api/traffic-routes.ts';
import { page, route, type RouteCall, type Route } from '../http/route.ts';
import { auditPage } from './audit.ts';
import { batchPage } from './batch.ts';
import { batchesPage } from './batches.ts';
import { findPage, type FindPageData } from './find.ts';
import { layout, type PageContent } from './layout.ts';
import { overviewPage } from './overview.ts';
import type { PageView } from './elements.ts';
import { unknownPage } from './unknown.ts';

const PAGE_SIZE = 50;
/** Batches looked at for unknown contacts, the newest first. */
const UNKNOWN_BATCHES = 200;
const UNKNOWN_NOTICES = 100;
/** How far back the overview goes at first. */
const SHOWN_MINUTES = 60;

const PAGE = {
  method: 'GET',
  needs: 'viewer',
  kind: 'page',
  answers: { 200: { says: 'The page.', type: 'text/html' } },
} as const;

/** The pages behind the navigation. Each reads through the same functions as the API. */
export const PAGE_ROUTES: readonly Route[] = [
  route({
    ...PAGE,
    path: '/',
    summary: 'Overview: what goes, what waits, what is held and why.',
    query: z.object({ minutes: queryNumber(1, TRAFFIC_MINUTES, SHOWN_MINUTES) }),
    handle: async (call, context) => {
      const { minutes } = call.query;
      const [status, desk, unsent, traffic] = await Promise.all([
        context.status(),
        readUnknownOverview(context, { notices: 1, batches: UNKNOWN_BATCHES }),
        context.ledger.unsent(),
        trafficOf(context, minutes),
      ]);
      const contacts = desk.batches.reduce((sum, batch) => sum + batch.contacts, 0);
      const unknown = { notices: desk.listed, contacts };
      const sight = { status: statusToJson(status), unknown, unsent, traffic, minutes };
      const main = overviewPage(sight, lookOf(call));
      return framed(call, { title: 'Overview', nav: '/', charts: true, main });
    },
  }),
  route({
    ...PAGE,
    path: '/batches',
    summary: 'The batches that are kept.',
    query: z.object({ offset: queryNumber(0, 1_000_000, 0) }),
    handle: async (call, context) => {
      const { offset } = call.query;
      const list = await listBatches(context, { limit: PAGE_SIZE, offset }, call.now);
      const main = batchesPage({ ...list, offset }, lookOf(call));
      return framed(call, { title: 'Batches', nav: '/batches', main });
    },
  }),
  route({
    ...PAGE,
    path: '/batches/:id',
    summary: 'One batch: progress, failures, and what can be done.',
    params: batchParams,
    handle: async (call, context) => {
      const { id } = call.params;
      const view = await readBatchSnapshot(context, id);
      if (view === undefined) throw noSuchBatch(id);
      const { batch, standstill } = view;
      const failures = await digestFailures(context, batch);
      const noRedrive = whyNotRedrive(batch, call.now);
      const sight = { batch: batchToJson(batch, call.now), standstill, failures, noRedrive };
      return framed(call, {
        title: `Batch ${id}`,
        nav: '/batches',
        main: batchPage(sight, lookOf(call)),
      });
    },
  }),
  route({
    ...PAGE,
    path: '/unknown',
    summary: 'The desk where people decide on what may have been taken.',
    handle: async (call, context) => {
      const most = { notices: UNKNOWN_NOTICES, batches: UNKNOWN_BATCHES };
      const main = unknownPage(await readUnknownOverview(context, most), lookOf(call));
      return framed(call, { title: 'Unknown', nav: '/unknown', main });
    },
  }),
  route({
    ...PAGE,
    path: '/find',
    summary: 'Asks for a phone number.',
    handle: (call, context) => finding(call, { canFind: canFind(context) }),
  }),
  route({
    ...PAGE,
    method: 'POST',
    path: '/find',
    summary: 'What became of the notices for that number.',
    reads: true,
    perMinute: FINDS_PER_MINUTE,
    // What is no number is said on the page itself.
    body: z.object({ number: z.string().default('') }),
    handle: async (call, context) => {
      const { number } = call.body;
      if (!canFind(context)) return finding(call, { canFind: false }, 409);
      const checked = checkNumber(number);
      if (checked.kind === 'refused') {
        return finding(call, { canFind: true, problem: checked.reason }, 400);
      }
      return finding(call, { canFind: true, report: await findFor(context, number) });
    },
  }),
  route({
    ...PAGE,
    path: '/audit',
    summary: 'What people did by hand.',
    handle: async (call, { redis, keys }) => {
      const main = auditPage(await readAudit(redis, keys, 200), lookOf(call));
      return framed(call, { title: 'Audit', nav: '/audit', main });
    },
  }),
];

function lookOf({ who, csrf, url, now }: RouteCall): PageView {
  return { who, csrf, path: url, now };
}

function finding(call: RouteCall, sight: FindPageData, status = 200) {
  const main = findPage(sight, lookOf(call));
  return framed(call, { title: 'Find', nav: '/find', main }, status);
}

function framed(call: RouteCall, content: PageContent, status = 200) {
  return page(layout(content, { who: call.who, csrf: call.csrf }), status);
}

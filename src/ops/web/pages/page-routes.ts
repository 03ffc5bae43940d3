import { z } from 'zod';
import { lookUpNumber } from '../../../batch/source/check-number.ts';
import { whyNotRedrive } from '../../../batch/failures/redrive-batch.ts';
import { digestFailures } from '../../failure-digest.ts';
import { readBatchSnapshot } from '../../batch-snapshot.ts';
import { readTraffic } from '../../../traffic/traffic.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { batchToJson } from '../../answers/batch-json.ts';
import { canFind, findFor, FINDS_PER_MINUTE } from '../../operations/number.ts';
import { batchId } from '../../operations/fields.ts';
import { noticeParams } from '../../operations/notice.ts';
import { previewUnknowns, unknown, unknownFilter } from '../../operations/unknown.ts';
import { html } from '../http/html.ts';
import { auditFor, type KeptAudit } from '../../audit.ts';
import { route, type RouteCall, type Route } from '../http/route.ts';
import { listSessions } from '../../operations/sessions.ts';
import { auditPage, sessionsSection } from './audit.ts';
import { batchPage } from './batch.ts';
import { findPage, type FindPageData } from './find.ts';
import { mayAct, viewOf } from './elements.ts';
import { framed, PAGE } from './layout.ts';
import { HELP_ROUTES } from './help.ts';
import { LIST_ROUTES } from './list-routes.ts';
import { noticePage } from './notice.ts';
import { overviewPage } from '../overview/overview.ts';
import { downloadLink, selectionForm, selectionPage } from './unknown-selection.ts';
import { unknownPage } from './unknown.ts';

const UNKNOWN_NOTICES = 100;

/** Newest entries of the audit stream among which that of a pause is looked for. */
const AUDIT_READ = 500;

/** The pages of the navigation. Each reads through the same functions as the API. */
export const PAGE_ROUTES: readonly Route[] = [
  route({
    ...PAGE,
    path: '/',
    summary: 'Overview: the state of the queue, what waits, and why the queue is held.',
    handle: async (call, context) => {
      const { redis, keys } = context;
      const [status, traffic] = await Promise.all([context.status(), readTraffic(redis, keys)]);
      const main = overviewPage({ status, traffic }, viewOf(call));
      return framed(call, { title: 'Overview', nav: '/', main });
    },
  }),
  ...LIST_ROUTES,
  ...HELP_ROUTES,
  route({
    ...PAGE,
    path: '/batches/:id',
    summary: 'One batch: progress, failures and possible actions.',
    params: z.strictObject({ id: batchId }),
    handle: async (call, context) => {
      const { id } = call.params;
      const found = await readBatchSnapshot(context, id);
      const { batch, ...rest } = found;
      const failures = await digestFailures(context, batch);
      const noRedrive = whyNotRedrive(batch, call.now);
      const isPauseOf = ({ what, target, as }: KeptAudit) =>
        what === 'batch' && target === `batch ${id}` && as === 'paused';
      const paused =
        batch.phase === 'paused'
          ? (await auditFor(call.who, context, AUDIT_READ)).find(isPauseOf)
          : undefined;
      const shown = batchToJson(batch, call.now, rest);
      const data = { batch: shown, ...rest, paused, failures, noRedrive };
      return framed(call, {
        title: `Batch ${id}`,
        nav: '/batches',
        main: batchPage(data, viewOf(call)),
      });
    },
  }),
  route({
    ...PAGE,
    path: '/unknown',
    summary: 'Unknown outcomes, and the forms to resolve them.',
    handle: async (call, context) => {
      const view = viewOf(call);
      const actor = { who: call.name, why: '', bounded: true };
      const list = await unknown.run(context, { limit: UNKNOWN_NOTICES }, actor);
      const select = html`${selectionForm(view)} ${mayAct(view) && downloadLink({})}`;
      const main = unknownPage(list, view, select);
      return framed(call, { title: 'Unknown', nav: '/unknown', main });
    },
  }),
  route({
    ...PAGE,
    method: 'POST',
    path: '/unknown',
    summary: 'What a filter selects of the unknown outcomes, and the form to decide on all of it.',
    reads: true,
    perMinute: 60,
    body: previewUnknowns.input,
    handle: async (call, context) => {
      const view = viewOf(call);
      const filter = unknownFilter(call.body);
      const found = await previewUnknowns.run(context, call.body, { who: call.name, why: '' });
      const main = html`${selectionForm(view)} ${selectionPage({ filter, ...found }, view)}
        <p><a href="/unknown">All unknown outcomes</a></p>`;
      return framed(call, { title: 'Unknown', nav: '/unknown', main });
    },
  }),
  route({
    ...PAGE,
    path: '/notices/:id',
    summary: 'One single notice: its state, why it waits or failed, its attempts.',
    params: noticeParams,
    handle: async (call, context) => {
      const { id } = call.params;
      const main = noticePage(await lookUpNotice(context, id), viewOf(call));
      return framed(call, { title: 'Notice', nav: '/notices', main });
    },
  }),
  route({
    ...PAGE,
    path: '/find',
    summary: 'The search form for a phone number.',
    handle: (call, context) => framedFind(call, { canFind: canFind(context) }),
  }),
  route({
    ...PAGE,
    method: 'POST',
    path: '/find',
    summary: 'What happened to the notices for that number.',
    reads: true,
    perMinute: FINDS_PER_MINUTE,
    // An invalid number is reported on the page itself.
    body: z.object({ number: z.string().default('') }),
    handle: async (call, context) => {
      const { number } = call.body;
      if (!canFind(context)) return framedFind(call, { canFind: false }, 409);
      const checked = lookUpNumber(number);
      if (checked.kind === 'refused') {
        return framedFind(call, { canFind: true, problem: checked.reason }, 400);
      }
      const report = await findFor(context, { who: call.name, why: '' }, number);
      return framedFind(call, { canFind: true, report });
    },
  }),
  route({
    ...PAGE,
    path: '/audit',
    summary: 'The audit stream: manual actions.',
    handle: async (call, context) => {
      const view = viewOf(call);
      const list = auditPage(await auditFor(call.who, context, 200), view);
      const actor = { who: call.name, why: '' };
      const signedIn =
        mayAct(view) && sessionsSection(await listSessions.run(context, {}, actor), view);
      const main = html`${signedIn} ${list}`;
      return framed(call, { title: 'Audit', nav: '/audit', main });
    },
  }),
];

function framedFind(call: RouteCall, data: FindPageData, status = 200) {
  const main = findPage(data, viewOf(call));
  return framed(call, { title: 'Find', nav: '/find', main }, status);
}

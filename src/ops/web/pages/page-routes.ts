import { html } from '../html.ts';
import { page, route, type Call, type Route } from '../route.ts';
import { layout, type PageContent } from './layout.ts';

/** The pages behind the navigation. Each reads through the same functions as the API. */
export const PAGE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/',
    needs: 'viewer',
    kind: 'page',
    summary: 'Overview: what goes, what waits, what is held and why.',
    answers: { 200: { says: 'The page.', type: 'text/html' } },
    handle: async (call, parts) => {
      const status = await parts.status();
      const main = html`<section class="card" data-live="status">
        <dl>
          <dt>Waiting</dt>
          <dd data-field="jobs.waiting">${status.jobs.waiting}</dd>
          <dt>Active</dt>
          <dd data-field="jobs.active">${status.jobs.active}</dd>
          <dt>Failed</dt>
          <dd data-field="jobs.failed">${status.jobs.failed}</dd>
        </dl>
      </section>`;
      return framed(call, { title: 'Overview', nav: '/', main });
    },
  }),
  ...(['batches', 'unknown', 'find', 'audit'] as const).map((name) =>
    route({
      method: 'GET',
      path: `/${name}`,
      needs: 'viewer',
      kind: 'page',
      summary: `The page ${name}.`,
      answers: { 200: { says: 'The page.', type: 'text/html' } },
      handle: (call) =>
        framed(call, {
          title: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
          nav: `/${name}`,
          main: html`<p>To come.</p>`,
        }),
    }),
  ),
];

function framed(call: Call, content: PageContent) {
  return page(layout(content, { who: call.who, csrf: call.csrf }));
}

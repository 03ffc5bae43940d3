import type { Identity } from '../access/identity.ts';
import { assetPath } from '../assets.ts';
import { html, type Html } from '../http/html.ts';
import { page, type ServerLabel, type RouteAnswer, type RouteCall } from '../http/route.ts';

/** The viewer of a page. */
export interface Viewer {
  readonly who: Identity | undefined;
  readonly csrf: string;
  /** Absent on a page that is shown without one. */
  readonly place?: ServerLabel | undefined;
  /** What the form before has done. */
  readonly said?: string | undefined;
}

/** A page without its frame. */
export interface PageContent {
  readonly title: string;
  /** Path of the navigation entry that is marked as current. */
  readonly nav?: string;
  readonly main: Html;
}

/** The navigation. */
const NAVIGATION = [
  { path: '/', title: 'Overview' },
  { path: '/waiting', title: 'Waiting' },
  { path: '/batches', title: 'Batches' },
  { path: '/notices', title: 'Notices' },
  { path: '/unknown', title: 'Unknown' },
  { path: '/find', title: 'Find' },
  { path: '/queues', title: 'Queues' },
  { path: '/audit', title: 'Audit' },
  { path: '/help', title: 'Help' },
] as const;

/** A whole page: head, navigation and content. */
export function layout(
  { title, nav, main }: PageContent,
  { who, csrf, place, said }: Viewer,
): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} - ${place?.name ?? 'notices'}</title>
        <link rel="icon" href="${assetPath('icon.svg')}" />
        <link rel="stylesheet" href="${assetPath('ops.css')}" />
        <script type="module" src="${assetPath('ops.js')}"></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        ${who !== undefined && header(who, csrf, nav, place)}
        <div id="trouble" class="trouble" role="alert" hidden></div>
        <p id="said" class="unseen" role="status"></p>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${said !== undefined && html`<p class="note done" role="status">${said}</p>`} ${main}
        </main>
      </body>
    </html>`;
}

function header(
  who: Identity,
  csrf: string,
  nav: string | undefined,
  place: ServerLabel | undefined,
): Html {
  return html`<header>
    ${
      place !== undefined &&
      html`<p class="place">
        ${place.name !== undefined && html`<strong>${place.name}</strong>`} ${place.account}
      </p>`
    }
    <nav aria-label="Main">
      <ul>
        ${NAVIGATION.map(
          ({ path, title }) =>
            html`<li>
              <a href="${path}" ${path === nav && html`aria-current="page"`}>${title}</a>
            </li>`,
        )}
      </ul>
    </nav>
    <div class="who">
      <span>${who.name} (${who.role})</span>
      ${
        who.by === 'session' &&
        html`<form method="post" action="/sign-out">
          ${csrfField(csrf)}
          <button type="submit" class="quiet">Sign out</button>
        </form>`
      }
    </div>
  </header>`;
}

/** The CSRF token, as a field of every form that is posted. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="_csrf" value="${csrf}" />`;
}

/** Where the server redirects after the form was processed: a path of this server. */
export function nextField(path: string): Html {
  return html`<input type="hidden" name="_next" value="${path}" />`;
}

/** What the routes of all pages have in common. */
export const PAGE = {
  method: 'GET',
  needs: 'viewer',
  kind: 'page',
  answers: { 200: { says: 'The page.', type: 'text/html' } },
} as const;

/** Answers a page within the layout. */
export function framed(
  { who, csrf, place, said }: Pick<RouteCall, 'who' | 'csrf' | 'place' | 'said'>,
  content: PageContent,
  status = 200,
): RouteAnswer {
  return page(layout(content, { who, csrf, place, said }), status);
}

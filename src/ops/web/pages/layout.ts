import type { z } from 'zod';
import type { HoldKind } from '../../../contracts/hold.ts';
import { readFleet } from '../../snapshot.ts';
import type { Identity } from '../access/identity.ts';
import { assetPath } from '../assets.ts';
import { html, type Html, type Part } from '../http/html.ts';
import { route, type InputOf, type Route, type RouteCall, type RouteSpec } from '../http/route.ts';
import type { OpsContext } from '../ops-context.ts';
import { hidden } from './elements.ts';

/** The viewer of a page, and what is shown beside its content. */
export type Viewer = Partial<Pick<RouteCall, 'who' | 'csrf' | 'said'>> & {
  readonly place?: OpsContext['place'];
  readonly hold?: HoldKind | undefined;
};

const NAVIGATION = [
  ['/', 'Overview'],
  ['/waiting', 'Waiting'],
  ['/notices', 'Not accepted'],
  ['/batches', 'Batches'],
  ['/find', 'Find'],
  ['/queues', 'Queues'],
  ['/audit', 'Audit'],
  ['/help', 'Help'],
] as const;

type Described = 'path' | 'summary' | 'input' | 'perMinute' | 'reads';

/** A page of the navigation, or below one: its title, its query, and its view of what it reads. */
interface PageSpec<Input extends z.ZodType | undefined> extends Pick<RouteSpec<Input>, Described> {
  readonly title: string | ((input: InputOf<Input>) => string);
  /** Default: its path */
  readonly nav?: (typeof NAVIGATION)[number][0];
  readonly view: (call: RouteCall<InputOf<Input>>, context: OpsContext) => Part | Promise<Part>;
}

/** The route of a page: a POST where its input must not be part of a URL. */
export function page<Input extends z.ZodType | undefined = undefined>(
  spec: PageSpec<Input>,
): Route {
  const { title, nav = spec.path, view, ...rest } = spec;
  return route<Input>({
    ...rest,
    method: rest.reads === true ? 'POST' : 'GET',
    needs: 'viewer',
    kind: 'page',
    handle: async (call, context) => {
      const main = html`${await view(call, context)}`;
      const shown = typeof title === 'string' ? title : title(call.input);
      // Pages that are watched; the others are there without Redis.
      const isWatched = main.text.includes('data-refresh');
      const { hold } = isWatched ? await readFleet(context.fleet, 'hold') : {};
      return layout(shown, main, { ...call, place: context.place, hold: hold?.kind }, nav);
    },
  });
}

/** A whole page: head, navigation and content. @param nav path of the entry that is marked as current */
export function layout(title: string, main: Part, viewer: Viewer, nav?: string): Html {
  const { who, csrf = '', place, said, hold } = viewer;
  // That the service asks for a pause needs no person.
  const isHeld = hold !== undefined && hold !== 'throttled';
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
      <body ${isHeld && html`data-held="Held: ${hold}"`}>
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

function header(who: Identity, csrf: string, nav = '', place?: Viewer['place']): Html {
  const entry = ([path, title]: (typeof NAVIGATION)[number]) =>
    html`<li><a href="${path}" ${path === nav && html`aria-current="page"`}>${title}</a></li>`;
  const name = place?.name !== undefined && html`<strong>${place.name}</strong>`;
  return html`<header>
    ${place !== undefined && html`<p class="tag">${name} ${place.account}</p>`}
    <nav aria-label="Main">
      <ul>
        ${NAVIGATION.map(entry)}
      </ul>
    </nav>
    <div class="who">
      <span>${who.name} (${who.role})</span>
      ${
        who.by === 'session' &&
        html`<form method="post" action="/sign-out">
          ${hidden('_csrf', csrf)}
          <button type="submit" class="quiet">Sign out</button>
        </form>`
      }
    </div>
  </header>`;
}

import { relativeTime, type SayTime } from '../../../format/time.ts';
import type { Identity } from '../access/identity.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { RouteCall } from '../http/route.ts';
import { csrfField, nextField } from './layout.ts';

/** For whom and when a page is made. */
export interface PageView {
  readonly who: Identity | undefined;
  readonly csrf: string;
  /** Path to which a form of the page redirects. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** For whom and when the page of a request is made. */
export function viewOf({ who, csrf, url, now }: RouteCall): PageView {
  return { who, csrf, path: url, now };
}

/** Whether the viewer of the page may also change something. */
export function mayAct({ who }: PageView): boolean {
  return who?.role === 'operator';
}

/** A time relative to now, and as time of day: in UTC, until the script writes it in the zone of the browser. */
export function moment(at: number, now: number, say?: SayTime): Html {
  const { words, day, time, exact } = relativeTime(at, now, say);
  const clock = `${day}${time.slice(0, 5)} UTC`;
  return html`<time datetime="${exact}" title="${exact}"
    >${words} <span class="quiet small clock">${clock}</span></time
  >`;
}

/** A form that changes something, and then redirects to its page. */
export function form(view: PageView, action: string, body: Part, next = view.path): Html {
  return html`<form method="post" action="${action}">
    ${csrfField(view.csrf)}${nextField(next)}${body}
  </form>`;
}

/** A field for the reason, which is stored in the audit stream. */
export function whyField(id: string): Html {
  return html`<label for="${id}">Why</label>
    <input
      id="${id}"
      name="why"
      maxlength="100"
      autocomplete="off"
      required
      placeholder="for the audit stream"
    />`;
}

/** An action that opens first, to explain what its button will do. */
export function ask(title: string, body: Part): Html {
  return html`<details class="ask">
    <summary>${title}</summary>
    <div>${body}</div>
  </details>`;
}

/** A column of a table: its title, the cell of a row, and what it is. */
export type TableColumn<Row> = readonly [
  title: Html | string,
  cell: (row: Row) => Part,
  kind?: 'number' | 'wide',
];

/**
 * A table with a caption for screen readers; wide tables scroll in their own box. On a phone each cell is
 * a line with the title of its column.
 *
 * @param below what has the whole width under a row, such as its actions
 */
export function table<Row>(
  caption: string,
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  below: (row: Row, index: number) => readonly Part[] = () => [],
): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(([title, , kind]) => html`<th scope="col" ${kind && html`class="${kind}"`}>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row, index) => [
          html`<tr>
            ${columns.map((column) => html`<td ${attributesOf(column)}>${column[1](row)}</td>`)}
          </tr>`,
          ...below(row, index)
            .filter(Boolean)
            .map(
              (part) =>
                html`<tr>
                  <td colspan="${columns.length}">${part}</td>
                </tr>`,
            ),
        ])}
      </tbody>
    </table>
  </div>`;
}

const attributesOf = <Row>([title, , kind]: TableColumn<Row>): readonly Part[] => [
  kind && html`class="${kind}" `,
  typeof title === 'string' && html`data-label="${title}"`,
];

/** The state of a notice or contact, with its colour. */
export const dot = (state: string): Html => html`<i class="dot ${state}"></i>${state}`;

export const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code>${text}</code>`;

/** A link to the page of a notice. */
export const noticeLink = (id: string): Html =>
  html`<a href="/notices/${encodeURIComponent(id)}"><code>${id}</code></a>`;

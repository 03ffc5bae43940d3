import { formatCount } from '../../../format/format.ts';
import { relativeTime, type SayTime } from '../../../format/time.ts';
import type { Identity } from '../access/identity.ts';
import { html, Html, type Part } from '../http/html.ts';
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

/**
 * A table with a caption for screen readers; wide tables scroll in their own box. On a phone each cell is
 * a line with the head of its column.
 */
export function table(caption: string, heads: readonly Html[], rows: readonly Html[]): Html {
  const titles = heads.map(({ text }) => text.replaceAll(/<[^>]*>/g, '').trim());
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => labelled(row, titles))}
      </tbody>
    </table>
  </div>`;
}

/** Adds the head of its column to each cell; the texts of others are escaped, so they contain no tag. */
function labelled({ text }: Html, titles: readonly string[]): Html {
  const rows = text.split(/(?=<tr\b)/).map((row) => {
    let column = 0;
    return row.replaceAll(/<td(?! [^>]*colspan)\b/g, (tag) => {
      const title = titles[column++] ?? '';
      return title === '' ? tag : `${tag} data-label="${title}"`;
    });
  });
  return new Html(rows.join(''));
}

/** Head of a column; numbers are aligned right. */
export function head(title: string, number = false): Html {
  return html`<th scope="col" ${number && html`class="number"`}>${title}</th>`;
}

/** A number that the script updates in place by the name of its field. */
export function figure(name: string, value: number | undefined): Html {
  return html`<span data-field="${name}">${value === undefined ? '' : formatCount(value)}</span>`;
}

import type { Identity } from '../access/identity.ts';
import { html, type Html, type Part } from '../http/html.ts';
import { csrfField, nextField } from './layout.ts';

/** What pages need to know of who looks, and when. */
export interface PageView {
  readonly who: Identity | undefined;
  readonly csrf: string;
  /** Path that a form of the page leads back to. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Whether the one who looks may also act. */
export function mayAct({ who }: PageView): boolean {
  return who?.role === 'operator';
}

/** A whole number as people write it. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** A rate: small ones with a digit after the point. */
export function rate(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : count(perSecond);
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** A span in its largest whole unit: `3 min`. */
export function span(ms: number): string {
  const [unit, name] = UNITS.find(([size]) => Math.abs(ms) >= size) ?? [1, 'ms'];
  return `${Math.round(ms / unit)} ${name}`;
}

/** A moment, as people say it, with the exact time for whoever wants it. */
export function moment(at: number, now: number): Html {
  const exact = new Date(at).toISOString();
  const words = at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
  return html`<time datetime="${exact}" title="${exact}">${words}</time>`;
}

/** A form that changes something, and then leads back to its page. */
export function form(look: PageView, action: string, body: Part, next = look.path): Html {
  return html`<form method="post" action="${action}">
    ${csrfField(look.csrf)}${nextField(next)}${body}
  </form>`;
}

/** A field for the reason that the audit stream keeps. */
export function whyField(id: string, asked = true): Html {
  return html`<label for="${id}">Why</label>
    <input
      id="${id}"
      name="why"
      maxlength="100"
      autocomplete="off"
      ${asked && html`required`}
      placeholder="for the audit stream"
    />`;
}

/** Something that is asked for first: says what it will do before the button that does it. */
export function ask(title: string, body: Part): Html {
  return html`<details class="ask">
    <summary>${title}</summary>
    <div>${body}</div>
  </details>`;
}

/** A table with a heading for screen readers; wide ones scroll in their own box. */
export function table(caption: string, heads: readonly Part[], rows: readonly Html[]): Html {
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
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** Head of a column; numbers stand at the right. */
export function head(title: string, number = false): Html {
  return html`<th scope="col" ${number && html`class="number"`}>${title}</th>`;
}

/** A number that may be updated in place by the name of its field. */
export function figure(name: string, value: number | undefined): Html {
  return html`<span data-field="${name}">${value === undefined ? '' : count(value)}</span>`;
}

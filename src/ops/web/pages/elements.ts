import { z } from 'zod';
import { kindOf } from '../../operations/fields.ts';
import { paramsOf, type Operation } from '../../operations/operation.ts';
import { relativeTime, type SayTime } from '../../../format/time.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { RouteCall } from '../http/route.ts';

/** For whom and when a page is made. */
export type PageView = Pick<RouteCall, 'who' | 'csrf' | 'url' | 'now'>;

/** Whether the viewer of the page may also change something. */
export function mayAct({ who }: PageView): boolean {
  return who?.role === 'operator';
}

/** A part of a page; the script reads it again where it is watched. */
export function card(id: string, title: Part, body: Part, isWatched = true): Html {
  return html`<section class="card" id="${id}" ${isWatched && html`data-refresh`}>
    ${title !== undefined && html`<h2>${title}</h2>`} ${body}
  </section>`;
}

/** In place of a part of which there is nothing. */
export function empty(id: string, body: Part): Html {
  return html`<section class="card empty" id="${id}" data-refresh>${body}</section>`;
}

export const para = (text: Part): Html => html`<p>${text}</p>`;

export const quiet = (text: Part): Html => html`<p class="quiet">${text}</p>`;

export const note = (text: Part): Html => html`<p class="note">${text}</p>`;

export const link = (path: string, text: Part): Html => html`<a href="${path}">${text}</a>`;

export const tag = (text: string, tone = text): Html =>
  html`<span class="tag ${tone}">${text}</span>`;

/** The state of a notice or contact, with its colour. */
export const dot = (state: string): Html => html`<i class="dot ${state}"></i>${state}`;

export const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code>${text}</code>`;

export const noticeLink = (id: string): Html =>
  link(`/notices/${encodeURIComponent(id)}`, code(id));

export const batchLink = (id: string): Html => link(`/batches/${id}`, id);

/** A time relative to now, and as time of day: in UTC, until the script writes it in the zone of the browser. */
export function moment(at: number, now: number, say?: SayTime): Html {
  const { words, day, time, exact } = relativeTime(at, now, say);
  const clock = `${day}${time.slice(0, 5)} UTC`;
  return html`<time datetime="${exact}" title="${exact}"
    >${words} <span class="quiet small clock">${clock}</span></time
  >`;
}

/** Names with their values; those without a value are left out. */
export function facts(rows: readonly (readonly [name: string, value: Part])[]): Html {
  return html`<dl>
    ${rows.map(([name, value]) => isThere(value) && [html`<dt>${name}</dt>`, html`<dd>${value}</dd>`])}
  </dl>`;
}

const isThere = (value: Part) => value !== undefined && value !== false && value !== null;

/** Figures with their names, and words below some of them. */
export function tiles(rows: readonly (readonly [name: Part, value: Part, below?: Part])[]): Html {
  return html`<dl class="tiles">
    ${rows.map(
      ([name, value, below]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
          ${isThere(below) && html`<dd class="quiet small">${below}</dd>`}
        </div>`,
    )}
  </dl>`;
}

/** A column of a table: its title, the cell of a row, and what it is. */
export type TableColumn<Row> = readonly [
  title: string,
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
  below: (row: Row) => Part = () => false,
): Html {
  const wide = (part: Part) =>
    isThere(part) &&
    html`<tr>
      <td colspan="${columns.length}">${part}</td>
    </tr>`;
  const classOf = (kind: string | undefined) => kind !== undefined && html`class="${kind}"`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(([title, , kind]) => html`<th scope="col" ${classOf(kind)}>${title}</th>`)}
        </tr>
      </thead>
      ${rows.map(
        (row) =>
          html`<tbody>
            <tr>
              ${columns.map(([title, cell, kind]) => html`<td ${classOf(kind)} data-label="${title}">${cell(row)}</td>`)}
            </tr>
            ${wide(below(row))}
          </tbody>`,
      )}
    </table>
  </div>`;
}

/** A field that is not shown; none without a value. Of a form that is posted `_csrf` is one. */
export const hidden = (name: string, value: GivenInput[string]) =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}" />`;

/** An action that opens first, to explain what its button will do. */
function ask(title: string, body: Part): Html {
  return html`<details class="ask">
    <summary>${title}</summary>
    <div>${body}</div>
  </details>`;
}

/** Input of an operation or a page that is decided already. */
export type GivenInput = Readonly<Record<string, string | number | boolean | undefined>>;

/** A form that runs an operation. */
export interface Action {
  readonly button: string;
  /** What opens the form, which then asks why; without it there is only the button. */
  readonly opens?: string;
  /** What the button will do. */
  readonly says?: Part;
  readonly given?: GivenInput;
  /** Input that is asked for: labels by the name of the field. */
  readonly asks?: Readonly<Record<string, string>>;
  readonly more?: Part;
  readonly danger?: boolean;
  /** Where it leads to. Default: the page itself */
  readonly next?: string;
}

/** The form of an operation, for those who may run it; it leads back to its page, which says what was done. */
export function action(view: PageView, row: Operation, spec: Action): Html | false {
  const { button, opens, says, given = {}, asks = {}, more, danger, next = view.url } = spec;
  if (!mayAct(view)) return false;
  const params = new Set(paramsOf(row));
  const path = row.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(given[name])),
  );
  const isInParts = row.output instanceof z.ZodObject && 'complete' in row.output.shape;
  const form = html`<form method="post" ${isInParts && html`data-parts`} action="${path}">
    ${hidden('_csrf', view.csrf)} ${hidden('_next', next)}
    ${Object.entries(given).map(([name, value]) => !params.has(name) && hidden(name, value))}
    ${isThere(says) && para(says)} ${more}
    ${Object.entries(asks).map(([name, label]) => inputField(row, name, label))}
    ${opens !== undefined && WHY}
    <button type="submit" ${danger === true && html`class="danger"`}>${button}</button>
  </form>`;
  return opens === undefined ? form : ask(opens, form);
}

export function acts(...actions: readonly Part[]): Html | false {
  return actions.some(isThere) && html`<div class="acts">${actions}</div>`;
}

const WHY = html`<label
  >Why
  <input name="why" maxlength="100" autocomplete="off" required placeholder="for the audit stream"
/></label>`;

function inputField({ input }: Operation, name: string, label: string): Html {
  return kindOf(input.shape[name]) === 'boolean'
    ? html`<label class="choice"
        ><input type="checkbox" name="${name}" /> <span>${label}</span></label
      >`
    : html`<label>${label} <input name="${name}" autocomplete="off" spellcheck="false" /></label>`;
}

export const isFiltered = (given: GivenInput): boolean =>
  Object.values(given).some((value) => value !== undefined);

/** A field of a filter: its name in the query, its label, and its choices or an example. */
export type FilterField = readonly [
  name: string,
  label: string,
  choices: readonly (readonly [value: string, text: string])[] | string,
];

/** A form that filters a list: its fields are in the URL, so that it works without script. */
export function filter(
  path: string,
  given: GivenInput,
  fields: readonly FilterField[],
  problem?: string,
): Html {
  return html`<form method="get" action="${path}" class="card filter" role="search">
    ${fields.map(([name, label, choices]) => {
      const value = String(given[name] ?? '');
      return html`<label>${label} ${filterInput(name, value, choices)}</label>`;
    })}
    <p class="send">
      <button type="submit">Filter</button>
      ${isFiltered(given) && link(path, 'Show all')}
    </p>
    ${problem !== undefined && html`<p class="problem" role="alert">Not filtered: ${problem}</p>`}
  </form>`;
}

function filterInput(name: string, value: string, choices: FilterField[2]): Html {
  if (typeof choices === 'string') {
    return html`<input
      name="${name}"
      value="${value}"
      placeholder="${choices}"
      autocomplete="off"
    />`;
  }
  // A chosen value that is none of them becomes one, so that it stays visible.
  const isListed = value === '' || choices.some(([one]) => one === value);
  const all = [['', 'any'] as const, ...choices, ...(isListed ? [] : [[value, value] as const])];
  return html`<select name="${name}">
    ${all.map(([one, text]) => html`<option value="${one}" ${one === value && html`selected`}>${text}</option>`)}
  </select>`;
}

export const choicesOf = (words: readonly string[]) => words.map((word) => [word, word] as const);

export const PERIODS = [
  ['1h', 'the last hour'],
  ['24h', 'the last 24 hours'],
  ['7d', 'the last 7 days'],
  ['30d', 'the last 30 days'],
] as const;

/** A path with those parameters that have a value. */
export function linkWith(path: string, query: GivenInput): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value));
  }
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

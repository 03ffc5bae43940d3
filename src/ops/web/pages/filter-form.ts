import { html, type Html } from '../http/html.ts';

/** Ages that can be chosen, in milliseconds. */
export const AGES = [
  ['3600000', '1 hour'],
  ['21600000', '6 hours'],
  ['86400000', '24 hours'],
  ['259200000', '3 days'],
] as const;

/** Periods that can be chosen. */
export const PERIODS = [
  ['', 'any time'],
  ['1h', 'the last hour'],
  ['24h', 'the last 24 hours'],
  ['7d', 'the last 7 days'],
  ['30d', 'the last 30 days'],
] as const;

/** A field that is not shown; none without a value. */
export const hidden = (name: string, value: string | number | undefined) =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`;

/** A form that filters a list: its fields are in the URL, so that it works without script. */
export function filterForm(
  action: string,
  fields: readonly Html[],
  { chosen, problem }: { readonly chosen: boolean; readonly problem?: string | undefined },
): Html {
  return html`<form method="get" action="${action}" class="card filter" role="search">
    ${fields}
    <p class="send">
      <button type="submit">Filter</button>
      ${chosen && html`<a href="${action}">Show all</a>`}
    </p>
    ${problem !== undefined && html`<p class="problem" role="alert">Not filtered: ${problem}</p>`}
  </form>`;
}

/** A field of a filter. */
interface FilterField {
  readonly name: string;
  readonly label: string;
  /** What is chosen. */
  readonly value: string | undefined;
}

/** A field with choices; a chosen value that is none of them becomes one, so that it stays visible. */
export function choiceField(
  { name, label, value = '' }: FilterField,
  choices: readonly (readonly [value: string, text: string])[],
): Html {
  const all = choices.some(([one]) => one === value) ? choices : [...choices, [value, value]];
  return html`<p>
    <label for="filter-${name}">${label}</label>
    <select id="filter-${name}" name="${name}">
      ${all.map(
        ([one = '', text]) =>
          html`<option value="${one}" ${one === value && html`selected`}>${text}</option>`,
      )}
    </select>
  </p>`;
}

/** A field for text. */
export function textField({ name, label, value = '' }: FilterField, example = ''): Html {
  return html`<p>
    <label for="filter-${name}">${label}</label>
    <input
      id="filter-${name}"
      name="${name}"
      value="${value}"
      placeholder="${example}"
      autocomplete="off"
      spellcheck="false"
    />
  </p>`;
}

/** The fields of a query that are filled in: a form without script sends empty ones, too. */
export function withoutBlanks(query: unknown): unknown {
  if (typeof query !== 'object' || query === null) return query;
  const fields = Object.entries(query).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? value.trim() : value,
  ]);
  return Object.fromEntries(fields.filter(([, value]) => value !== '')) as unknown;
}

/** A path with those parameters that have a value. */
export function linkWith(
  path: string,
  query: { readonly [name in string]?: string | number | undefined },
): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value));
  }
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

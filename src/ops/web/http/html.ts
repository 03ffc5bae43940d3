/**
 * HTML that is safe to send. Only {@link html} creates it, which escapes every value that is not
 * Html itself.
 */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. `undefined`, `null` and `false` write nothing. */
export type Part = Html | string | number | undefined | null | false | readonly Part[];

/**
 * Template tag for HTML. Values are escaped for text and for attributes in double quotes. Use them
 * only there: not in tag names, unquoted attributes, scripts or styles.
 *
 * @example html`<p title="${title}">${items.map((item) => html`<b>${item}</b>`)}</p>`
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = texts[0] ?? '';
  for (const [index, part] of parts.entries()) text += write(part) + (texts[index + 1] ?? '');
  return new Html(text);
}

function write(part: Part): string {
  if (part === undefined || part === null || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(write).join('');
  return escapeHtml(String(part));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (sign) => ESCAPES[sign] ?? sign);
}

/**
 * HTML that is safe to send: made only by {@link html}, which escapes whatever is put into it and is
 * not HTML of its own making.
 */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template. Nothing is written for `undefined`, `null` and `false`. */
export type Part = Html | string | number | undefined | null | false | readonly Part[];

/**
 * Tag of a template of HTML. Every value is escaped for text and for attributes in double quotes,
 * where it may stand, and nowhere else: no value inside a tag's name, an unquoted attribute, a script
 * or a style.
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

/** Text as it may stand in HTML. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (sign) => ESCAPES[sign] ?? sign);
}

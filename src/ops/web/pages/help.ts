import { readFileSync } from 'node:fs';
import { ofPackage } from '../assets.ts';
import { html, type Html } from '../http/html.ts';
import { page } from './layout.ts';

let kept: Html | undefined;

/** docs/operating.md as a page, so that a headline can link to the section that says what to do. */
export const HELP = page({
  path: '/help',
  title: 'Operating',
  summary: 'The runbook: what each hold, event and code means, and what to do.',
  view: () => {
    kept ??= htmlOf(readFileSync(ofPackage('docs/operating.md'), 'utf8'));
    return kept;
  },
});

/** The few forms of Markdown that the runbook has: headings, paragraphs, blocks of code, code and links in a line. */
function htmlOf(markdown: string): Html {
  const blocks = markdown.split(/(```[\s\S]*?```)|\n{2,}/).filter((block) => block !== undefined);
  const shown = blocks.map((block) => block.trim()).filter((block) => block !== '');
  // The title is that of the page.
  return html`<div class="card">${shown.slice(1).map(blockOf)}</div>`;
}

function blockOf(block: string): Html {
  const [, marks = '', title = ''] = /^(#{2,3}) (.+)$/.exec(block) ?? [];
  if (marks !== '') {
    const id = slugOf(title);
    return marks === '##'
      ? html`<h2 id="${id}">${lineOf(title)}</h2>`
      : html`<h3 id="${id}">${lineOf(title)}</h3>`;
  }
  const [, code] = /^```\w*\n([\s\S]*?)\n?```$/.exec(block) ?? [];
  return code === undefined ? html`<p>${lineOf(block)}</p>` : html`<pre><code>${code}</code></pre>`;
}

function lineOf(text: string): readonly Html[] {
  return text.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part) => {
    const [, label, target] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
    if (label !== undefined && target?.startsWith('#') === true) {
      return html`<a href="${target}">${lineOf(label)}</a>`;
    }
    if (label !== undefined) return html`${lineOf(label)}`;
    return part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`;
  });
}

/** As the usual hosts make anchors of headings. */
const slugOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

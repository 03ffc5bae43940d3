import { html, type Html } from '../http/html.ts';
import type { Problem } from '../http/problem.ts';
import { layout, type Viewer } from './layout.ts';

/**
 * What a person sees instead of the page that was asked for. Where Redis is away the client module
 * goes on trying, and shows the page when it is back.
 */
export function problemPage(problem: Problem, viewer: Viewer): Html {
  const away = problem.status === 503;
  const main = html`<section class="card problem" role="alert" ${away && html`data-retry="2"`}>
    <p>${problem.detail}</p>
    ${
      problem.issues !== undefined &&
      html`<ul>
        ${problem.issues.map((issue) => html`<li><code>${issue.field}</code>: ${issue.problem}</li>`)}
      </ul>`
    }
    ${away && html`<p>This page goes on trying by itself.</p>`}
    <p class="quiet">${problem.status} ${problem.code}</p>
  </section>`;
  return layout({ title: away ? 'Redis is away' : 'That did not work', main }, viewer);
}

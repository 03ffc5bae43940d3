import { html, type Html } from '../http/html.ts';
import { layout, type Viewer } from './layout.ts';
import type { Problem } from '../http/problem.ts';

/**
 * The sign-in page; every page shows it to a visitor who is not signed in.
 *
 * @param next path of this server to go to after the sign-in
 * @param problem why the sign-in failed
 */
export function signInPage(next: string, problem?: string): Html {
  const main = html`<form method="post" action="/sign-in" class="card narrow">
    <input type="hidden" name="next" value="${next}" />
    ${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
    <label
      >Name <input name="name" autocomplete="username" autocapitalize="none" required autofocus
    /></label>
    <label
      >Password <input name="password" type="password" autocomplete="current-password" required
    /></label>
    <p><button type="submit">Sign in</button></p>
  </form>`;
  return layout('Sign in', main, {});
}

/**
 * The page that is shown in place of the requested one when the request failed. While Redis is away,
 * the client script retries and loads the page when Redis is back.
 *
 * @param back where the request came from, if it must not be repeated: it was a form or a download
 */
export function problemPage(problem: Problem, viewer: Viewer, back?: string): Html {
  const away = problem.status === 503;
  const retries = away && back === undefined;
  const main = html`<section class="card problem" role="alert" ${retries && html`data-retry="2"`}>
    <p>${problem.detail}</p>
    ${
      problem.issues !== undefined &&
      html`<ul>
        ${problem.issues.map((issue) => html`<li><code>${issue.field}</code>: ${issue.problem}</li>`)}
      </ul>`
    }
    ${retries && html`<p>This page retries by itself.</p>`}
    ${back !== undefined && html`<p><a href="${back}">Back to the page before</a></p>`}
    <p class="quiet">${problem.status} ${problem.code}</p>
  </section>`;
  return layout(away ? 'Redis is away' : 'Request failed', main, viewer);
}

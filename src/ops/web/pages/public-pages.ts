import { html, type Html } from '../http/html.ts';
import { layout, type Viewer } from './layout.ts';
import type { Problem } from '../http/problem.ts';

/** Content of the sign-in page. */
export interface SignInState {
  /** Where to go after the sign-in: a path of this server. */
  readonly next: string;
  /** Why the sign-in failed. */
  readonly problem?: string;
}

/** The sign-in page; every page shows it to a visitor who is not signed in. */
export function signInPage({ next, problem }: SignInState): Html {
  const failure = problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`;
  const main = html`<form method="post" action="/sign-in" class="card narrow">
    <input type="hidden" name="next" value="${next}" />
    ${failure}
    <p>
      <label for="name">Name</label>
      <input
        id="name"
        name="name"
        autocomplete="username"
        autocapitalize="none"
        required
        autofocus
      />
    </p>
    <p>
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
      />
    </p>
    <p><button type="submit">Sign in</button></p>
  </form>`;
  return layout({ title: 'Sign in', main }, { who: undefined, csrf: '' });
}

/**
 * The page that is shown in place of the requested one when the request failed. While Redis is away,
 * the client script retries and loads the page when Redis is back.
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
    ${away && html`<p>This page retries by itself.</p>`}
    <p class="quiet">${problem.status} ${problem.code}</p>
  </section>`;
  return layout({ title: away ? 'Redis is away' : 'Request failed', main }, viewer);
}

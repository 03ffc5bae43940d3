import { html, type Html } from '../http/html.ts';
import { layout, type Viewer } from './layout.ts';
import type { Problem } from '../http/problem.ts';

/** What the page to sign in says. */
export interface SignInState {
  /** Where to go then: a path of ours. */
  readonly next: string;
  /** Why it did not work. */
  readonly problem?: string;
}

/** The page to sign in: also what every page answers to somebody unknown. */
export function signInPage({ next, problem }: SignInState): Html {
  const main = html`<form method="post" action="/sign-in" class="card narrow">
    <input type="hidden" name="next" value="${next}" />
    ${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
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

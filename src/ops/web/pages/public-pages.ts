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

/** How people can sign in. */
export interface SignInWays {
  /** Whether a user can sign in with a password. */
  readonly hasUsers: boolean;
  readonly provider: { readonly startUrl: string } | undefined;
}

/** The sign-in page; every page shows it to a visitor who is not signed in. */
export function signInPage(
  { next, problem }: SignInState,
  { hasUsers, provider }: SignInWays,
): Html {
  const failure = problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`;
  // The form stays where there is no other way: its page says what the configuration lacks.
  const hasForm = hasUsers || provider === undefined;
  const main = html`${
    provider !== undefined &&
    html`<section class="card narrow">
      ${!hasForm && failure}
      <p>
        <a href="${provider.startUrl}?next=${encodeURIComponent(next)}"
          >Sign in with single sign-on</a
        >
      </p>
    </section>`
  }
  ${hasForm && passwordForm(next, failure)}`;
  return layout({ title: 'Sign in', main }, { who: undefined, csrf: '' });
}

/** What a visitor sees who comes back from the provider: a strict cookie counts from the next request on. */
export function signedInPage(next: string): Html {
  const main = html`<p class="card narrow"><a href="${next}">Continue</a></p>`;
  return layout({ title: 'Signed in', goesTo: next, main }, { who: undefined, csrf: '' });
}

function passwordForm(next: string, failure: Html | false): Html {
  return html`<form method="post" action="/sign-in" class="card narrow">
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

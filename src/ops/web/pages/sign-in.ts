import { html, type Html } from '../http/html.ts';
import { layout } from './layout.ts';

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

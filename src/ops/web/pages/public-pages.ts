import { html, type Html } from '../http/html.ts';
import { hidden, link } from './elements.ts';
import { layout, type Viewer } from './layout.ts';
import type { OpsContext } from '../ops-context.ts';
import type { Problem } from '../http/problem.ts';

/**
 * The sign-in page; every page shows it to a visitor who is not signed in.
 *
 * @param place of the server: a person has to know which account the password is for
 * @param next path of this server to go to after the sign-in
 * @param problem why the sign-in failed
 */
export function signInPage(place: OpsContext['place'], next: string, problem?: string): Html {
  const main = html`<form method="post" action="/sign-in" class="card narrow">
    ${hidden('next', next)}
    ${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
    <label
      >Name <input name="name" autocomplete="username" autocapitalize="none" required autofocus
    /></label>
    <label
      >Password <input name="password" type="password" autocomplete="current-password" required
    /></label>
    <p><button type="submit">Sign in</button></p>
  </form>`;
  const { name = '', account } = place;
  const where = [name, `account ${account}`].filter((part) => part !== '').join(', ');
  return layout(`Sign in to notice-queue: ${where}`, main, { place });
}

/**
 * The page that is shown in place of the requested one when the request failed.
 *
 * @param back where its link leads to; without one the client script loads the page anew when Redis is back
 */
export function problemPage(problem: Problem, viewer: Viewer, back: string | undefined): Html {
  const retries = back === undefined;
  const main = html`<section class="card problem" role="alert" ${retries && html`data-retry="2"`}>
    <p>${problem.detail}</p>
    ${
      problem.issues !== undefined &&
      html`<ul>
        ${problem.issues.map((issue) => html`<li><code>${issue.field}</code>: ${issue.problem}</li>`)}
      </ul>`
    }
    <p>
      ${retries ? 'This page retries by itself.' : link(back, back === '/' ? 'To the overview' : 'Back to the page before')}
    </p>
    <p class="quiet">${problem.status} ${problem.code}</p>
  </section>`;
  const title = problem.status === 503 ? 'Redis is away' : 'Request failed';
  return layout(title, main, viewer);
}

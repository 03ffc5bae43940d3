import { decideFailures } from '../../operations/decide.ts';
import { html, type Html } from '../http/html.ts';
import * as ui from './elements.ts';

/** Why the outcome of something is unknown, and what to do first. */
const UNKNOWN =
  'The service may or may not have accepted it: a response was lost, or a worker died during a request. It is not sent again automatically. Look it up at the service, then decide.';

/** What the form decides on. */
interface Undecided {
  /** In words. */
  readonly what: string;
  /** Details, for what is more than one notice. */
  readonly says?: string;
  readonly given: ui.GivenInput & { readonly state: string };
  /** Why it cannot be sent again; undefined where it can. */
  readonly noResend?: string | undefined;
}

/** The form that decides on what was not accepted. */
export function decision(
  view: ui.PageView,
  { what, says, given, noResend }: Undecided,
): Html | false {
  const isUnknown = given.state === 'unknown';
  const choices = [
    noResend === undefined && [
      'resend',
      `Send it again.${isUnknown ? ' It may arrive twice.' : ''}`,
    ],
    isUnknown && ['accepted', 'The service accepted it: settle it as accepted.'],
    [
      'discard',
      isUnknown ? 'Settle it without sending it again.' : 'Give it up: it is never sent.',
    ],
  ] as const;
  return ui.action(view, decideFailures, {
    opens: `Decide on ${what}...`,
    says: isUnknown ? `${says ?? ''}${UNKNOWN}` : says,
    given,
    more: html`<fieldset>
      <legend>Decide on ${what}</legend>
      ${choices.map(
        (choice) =>
          choice !== false &&
          html`<label class="choice">
            <input type="radio" name="as" value="${choice[0]}" required />
            <span><strong>${choice[0]}</strong> ${choice[1]}</span>
          </label>`,
      )}
    </fieldset>`,
    asks: {
      ...(noResend === undefined && given['ids'] === undefined
        ? { rate: 'Sent again: most contacts a second (empty: no limit)' }
        : {}),
      ...(given['batch'] === undefined && !isUnknown
        ? { releaseKey: 'Given up: release its idempotency key, so that it can be sent anew' }
        : {}),
    },
    button: 'Decide',
    danger: isUnknown,
  });
}

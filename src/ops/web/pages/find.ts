import { countOf, formatCount } from '../../../format/format.ts';
import type { FoundState } from '../../../search/find-in-batches.ts';
import type { FindReport } from '../../../search/find-contact.ts';
import { describeFalsePositiveRate } from '../../../search/find-answer.ts';
import { html, type Html } from '../http/html.ts';
import { csrfField } from './layout.ts';
import { code, moment, noticeLink, table, type PageView } from './elements.ts';

/** Content of the search page. */
export interface FindPageData {
  /** Whether the search index is on (FIND_KEY). */
  readonly canFind: boolean;
  /** Why the input is not a valid phone number. */
  readonly problem?: string;
  readonly report?: FindReport;
}

/**
 * Searches what happened to the notices for one phone number. The number is sent in a form and never
 * returned: it is in no URL, no browser history and no page.
 */
export function findPage({ canFind, problem, report }: FindPageData, view: PageView): Html {
  if (!canFind) return SWITCHED_OFF;
  return html`${searchForm(problem, view)} ${report !== undefined && outcome(report, view)}`;
}

const SWITCHED_OFF = html`<section class="card empty">
  <p>The search is off because FIND_KEY is not set.</p>
  <p>
    To switch it on, set FIND_KEY to the same 32 random bytes for all producers, all importers and
    this server, and restart them. <code>openssl rand -hex 32</code> creates such a key. The search
    finds what is enqueued from then on.
  </p>
</section>`;

function searchForm(problem: string | undefined, { csrf }: PageView): Html {
  return html`<form method="post" action="/find" class="card narrow">
    ${csrfField(csrf)}
    <p>
      <label for="number">Phone number</label>
      <input
        id="number"
        name="number"
        inputmode="tel"
        autocomplete="off"
        spellcheck="false"
        required
        aria-describedby="${problem === undefined ? 'number-help' : 'number-problem number-help'}"
        ${problem !== undefined && html`aria-invalid="true" autofocus`}
      />
    </p>
    ${
      problem !== undefined &&
      html`<p class="problem" id="number-problem" role="alert">Not searched: ${problem}.</p>`
    }
    <p class="quiet small" id="number-help">
      In the national format, such as 01012345678. It is not stored and not shown again.
    </p>
    <p><button type="submit">Find</button></p>
  </form>`;
}

type Found = FindReport['notices'][number] | FindReport['contacts'][number];

function outcome({ notices, contacts, searched }: FindReport, view: PageView): Html {
  const where = (one: Found) =>
    'job' in one
      ? html`notice ${noticeLink(one.job)}`
      : html`batch <a href="/batches/${one.batch}">${one.batch}</a>, ${placeOf(one)}`;
  const unconfirmed = (one: Found) =>
    'job' in one ? 'no: the job is no longer kept' : 'probably: the contact has been deleted';
  const rows: readonly Found[] = [...notices, ...contacts];
  return html`<section class="card" id="found">
    <h2>Found</h2>
    ${
      rows.length === 0
        ? html`<p role="status">Nothing was found.</p>`
        : table<Found>(
            'Search results',
            [
              ['Where', where],
              [
                'State',
                (one) => stateText(one.states, 'possiblySent' in one ? one.possiblySent : 0),
              ],
              ['Confirmed', (one) => (one.confirmed ? 'yes' : unconfirmed(one))],
              ['Since', ({ at }) => moment(at, view.now)],
              ['Code', (one) => code(one.code)],
              ['Template', ({ template }) => template],
            ],
            rows,
          )
    }
    ${coverage(searched, view)}
  </section>`;
}

const placeOf = ({ row, chunk }: FindReport['contacts'][number]) =>
  row === undefined ? `chunk ${formatCount(chunk)}` : `row ${formatCount(row)}`;

/** A single possible state is shown with its colour. */
function stateText(states: readonly FoundState[], possiblySent = 0): Html {
  const [first] = states;
  const again = possiblySent > 0 && `, ${countOf(possiblySent, 'attempt')} possibly sent`;
  return html`${states.length === 1 && html`<i class="dot ${first}"></i>`}${states.join(' or ')}${again}`;
}

/** What the search covered. */
function coverage(searched: FindReport['searched'], { now }: PageView): Html {
  const { since, batches, contacts, unindexedChunks, wrongHit } = searched;
  return html`<p class="quiet">
      Searched what was enqueued ${moment(since, now, (span) => `in the last ${span}`)}: single
      notices, and ${countOf(contacts, 'contact')} of ${countOf(batches, 'batch', 'batches')}.
    </p>
    ${
      unindexedChunks > 0 &&
      html`<p class="note">
        ${countOf(unindexedChunks, 'chunk')} could not be searched: stored without FIND_KEY, or too
        long ago.
      </p>`
    }
    ${
      contacts > 0 &&
      html`<p class="quiet">
        The probability that an unconfirmed contact belongs to another number:
        ${describeFalsePositiveRate(wrongHit)}.
      </p>`
    }`;
}

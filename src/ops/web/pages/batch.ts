import { continueImport } from '../../../batch/ledger/blocked-reason.ts';
import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import type { KeptAudit } from '../../audit.ts';
import type { FailureDigest, FailureExample } from '../../failure-digest.ts';
import type { BatchAnswer } from '../../answers/batch-schemas.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  code,
  dot,
  form,
  mayAct,
  moment,
  table,
  whyField,
  type PageView,
} from './elements.ts';
import { STALLED_TAG, stateBar } from './batches.ts';

/** All that the page of a batch shows. */
export interface BatchPageData {
  readonly batch: BatchAnswer;
  /** Why nothing of it is sent; undefined where it is sent or over. */
  readonly standstill: string | undefined;
  /** Whether its import stopped before the end of the list. */
  readonly importStopped: boolean;
  /** Who paused it, where it is paused and the audit stream still has it. */
  readonly paused?: KeptAudit | undefined;
  readonly failures: FailureDigest;
  /** Why nothing can be redriven now; undefined where redriving is possible. */
  readonly noRedrive: string | undefined;
}

/** States with their meaning; together they add up to the total. */
const STATES = [
  ['pending', 'not settled yet'],
  ['accepted', 'the service accepted it'],
  ['rejected', 'the service rejected it'],
  ['unknown', 'the service may have accepted it'],
  ['expired', 'its deadline passed before it was sent'],
  ['cancelled', 'the batch was cancelled before it was sent'],
] as const;

/** One batch: its progress, what was not accepted and why, and the possible actions. */
export function batchPage(data: BatchPageData, view: PageView): Html {
  const { batch, failures } = data;
  return html`<p class="crumbs"><a href="/batches">Batches</a></p>
    ${progress(data, view)}
    <section class="card" id="failures" data-refresh>
      <h2>Not accepted</h2>
      ${failures.groups.length === 0 ? html`<p class="quiet">Nothing so far.</p>` : failureTable(data, view)}
    </section>
    ${mayAct(view) && downloads(batch)} ${facts(batch, view)}`;
}

function progress(data: BatchPageData, view: PageView): Html {
  const { batch, standstill, importStopped, paused } = data;
  const { phase, counts, stalled, perSecond, restMs, lossNear } = batch;
  return html`<section class="card" id="progress" data-refresh>
    <p class="states">
      <span class="tag ${phase}">${phase}</span>
      ${stalled && STALLED_TAG}
      ${phase === 'sending' && standstill === undefined && html`<span>${formatRate(perSecond)} contacts a second</span>`}
      ${restMs !== null && moment(view.now + restMs, view.now, (span) => `about ${span} left`)}
    </p>
    ${stateBar(counts)}
    ${standstill !== undefined && html`<p class="note">Not sending: ${standstill}.</p>`}
    ${
      paused !== undefined &&
      html`<p class="note">
        Paused by ${paused.who}
        ${moment(paused.at, view.now)}${paused.why !== '' && html`: ${paused.why}`}.
        ${formatCount(counts.total - counts.pending)} of ${countOf(counts.total, 'contact')} are
        done.
      </p>`
    }
    ${
      importStopped &&
      html`<p class="note">
        The import stopped after ${countOf(batch.rows, 'row')}; run the same import again to
        continue it: <code>${continueImport(batch)}</code>.
      </p>`
    }
    ${
      lossNear !== undefined &&
      html`<p class="note bad">
        ${countOf(lossNear.contacts, 'contact')} that ${lossNear.contacts === 1 ? 'was' : 'were'}
        not accepted will be deleted ${moment(lossNear.keptUntil, view.now)}: download or redrive
        before then.
      </p>`
    }
    <dl class="tiles">
      <div>
        <dt>contacts</dt>
        <dd>${formatCount(counts.total)}</dd>
      </div>
      ${STATES.map(
        ([state, meaning]) =>
          html`<div>
            <dt title="${meaning}"><i class="dot ${state}"></i>${state}</dt>
            <dd>${formatCount(counts[state])}</dd>
          </div>`,
      )}
    </dl>
    ${
      counts.possiblySentTwice > 0 &&
      html`<p class="quiet">
        ${countOf(counts.possiblySentTwice, 'message')} at most may have arrived twice.
      </p>`
    }
    ${mayAct(view) && controls(batch, view)}
  </section>`;
}

function controls({ id, phase, counts }: BatchAnswer, view: PageView): Html {
  const at = `/api/v1/batches/${encodeURIComponent(id)}`;
  const button = (text: string) => html`<button type="submit">${text}</button>`;
  return html`<div class="acts">
    ${(phase === 'sending' || phase === 'importing') && form(view, `${at}/pause`, button('Pause'))}
    ${phase === 'paused' && form(view, `${at}/resume`, button('Resume'))}
    ${
      phase !== 'finished' &&
      phase !== 'cancelled' &&
      ask(
        'Cancel...',
        form(
          view,
          `${at}/cancel`,
          html`<p>
              The ${countOf(counts.pending, 'pending contact')} will not be sent. This cannot be
              undone. Requests in flight finish.
            </p>
            ${whyField('why-cancel')}
            <button type="submit" class="danger">Cancel the batch</button>`,
        ),
      )
    }
  </div>`;
}

function failureTable({ batch, failures, noRedrive }: BatchPageData, view: PageView): Html {
  return html`${table<FailureExample>(
    'Failures by state and code',
    [
      ['State', ({ state }) => dot(state)],
      ['Code', (group) => code(group.code)],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
      [
        'Answer of the service',
        (group) =>
          html`${group.message === '' ? html`<span class="quiet">nothing</span>` : group.message}${example(group)}`,
      ],
    ],
    failures.groups,
    (group) => [
      mayAct(view) && noRedrive === undefined && redrive(batch, group, failures.at, view),
    ],
  )}
  ${
    noRedrive !== undefined &&
    html`<p class="quiet">These contacts cannot be sent again now: ${noRedrive}.</p>`
  }`;
}

function example({ example: contact }: FailureExample): Html | undefined {
  if (contact === undefined) return undefined;
  const fields = Object.entries(contact).map(([name, value]) => `${name} ${value}`);
  return html`<br /><span class="quiet">for example ${fields.join(', ')}</span>`;
}

/** States that can be redriven; cancelled contacts cannot. */
const REDRIVEN: ReadonlySet<string> = new Set(['rejected', 'expired', 'unknown']);

function redrive(
  { id }: BatchAnswer,
  group: FailureExample,
  before: number,
  view: PageView,
): Html | undefined {
  if (!REDRIVEN.has(group.state)) return undefined;
  const { state, contacts } = group;
  const name = `why-${state}-${group.code}`.replaceAll(/[^A-Za-z0-9-]/g, '-');
  return ask(
    'Send again...',
    form(
      view,
      `/api/v1/batches/${encodeURIComponent(id)}/redrive`,
      html`<p>
          ${countOf(contacts, 'contact')} will be sent again.
          ${state === 'unknown' && html`<strong>They may arrive twice: the service may have accepted them already.</strong>`}
        </p>
        <input type="hidden" name="state" value="${state}" />
        <input type="hidden" name="code" value="${group.code}" />
        <input type="hidden" name="before" value="${before}" />
        ${whyField(name)}
        <button type="submit" ${state === 'unknown' && html`class="danger"`}>
          Send ${formatCount(contacts)} again
        </button>`,
    ),
  );
}

function downloads({ id, counts }: BatchAnswer): Html | undefined {
  const states = (['rejected', 'unknown', 'expired', 'cancelled'] as const).filter(
    (state) => counts[state] > 0,
  );
  if (states.length === 0) return undefined;
  const at = `/api/v1/batches/${encodeURIComponent(id)}/failures.csv`;
  return html`<section class="card">
    <h2>Download</h2>
    <p>
      CSV lists with unmasked phone numbers, ready to be imported again. Each download is recorded
      in the audit stream.
    </p>
    <ul class="plain">
      ${states.map(
        (state) =>
          html`<li>
            <a href="${at}?state=${state}" download>${formatCount(counts[state])} ${state}</a>
          </li>`,
      )}
    </ul>
  </section>`;
}

function facts(batch: BatchAnswer, { now }: PageView): Html {
  const { templateCode, delivery, chunkSize, rate: limit, chunks, rows } = batch;
  const { refusedRows, duplicateRows, begunAt, finishedAt, keptUntil, expiresAt } = batch;
  const rowOf = (name: string, value: Html | string) =>
    html`<dt>${name}</dt>
      <dd>${value}</dd>`;
  return html`<section class="card">
    <h2>Details</h2>
    <dl>
      ${rowOf('Template', templateCode)} ${rowOf('Delivery', delivery)}
      ${rowOf('Rows read', formatCount(rows))} ${rowOf('Rows refused', formatCount(refusedRows))}
      ${rowOf('Duplicates left out', formatCount(duplicateRows))}
      ${rowOf('Chunks', `${formatCount(chunks)} of up to ${countOf(chunkSize, 'contact')}`)}
      ${rowOf('Limit', limit === 0 ? 'none of its own' : `${countOf(limit, 'contact')} a second`)}
      ${rowOf('Started', moment(begunAt, now))}
      ${finishedAt !== null && rowOf('Ended', moment(finishedAt, now))}
      ${expiresAt !== null && rowOf('Not sent after', moment(expiresAt, now))}
      ${keptUntil !== null && rowOf('Deleted', moment(keptUntil, now))}
    </dl>
  </section>`;
}

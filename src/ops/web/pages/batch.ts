import type { FailureDigest, FailureExample } from '../../failure-digest.ts';
import type { BatchAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  count,
  figure,
  form,
  head,
  mayAct,
  moment,
  rate,
  span,
  table,
  whyField,
  type PageView,
} from './elements.ts';
import { stateBar } from './batches.ts';

/** All that the page of a batch shows. */
export interface BatchPageData {
  readonly batch: BatchAnswer;
  /** Why it does not move, in words. */
  readonly standstill: string | undefined;
  readonly failures: FailureDigest;
  /** Why nothing can be redriven now; undefined where it can. */
  readonly noRedrive: string | undefined;
}

/** States with their meaning, as the page lists them; together they make the total. */
const STATES = [
  ['pending', 'not settled yet'],
  ['accepted', 'the service took it'],
  ['rejected', 'the service refused it'],
  ['unknown', 'it may have been taken'],
  ['expired', 'its deadline passed first'],
  ['cancelled', 'the batch was cancelled first'],
] as const;

/** One batch: how far it is, what was not accepted and why, and what can be done. */
export function batchPage(sight: BatchPageData, look: PageView): Html {
  const { batch, failures } = sight;
  return html`<p class="crumbs"><a href="/batches">Batches</a></p>
    ${progress(sight, look)}
    <section class="card" id="failures" data-refresh>
      <h2>Not accepted</h2>
      ${failures.groups.length === 0 ? html`<p class="quiet">Nothing so far.</p>` : failureTable(sight, look)}
      ${
        !failures.complete &&
        html`<p class="quiet">
          There are more failures than a page looks at; the counts above are exact.
        </p>`
      }
    </section>
    ${mayAct(look) && downloads(batch)} ${facts(batch, look)}`;
}

function progress({ batch, standstill }: BatchPageData, look: PageView): Html {
  const { id, phase, counts, perSecond, restMs, lossNear } = batch;
  return html`<section class="card" id="progress" data-live="batch" data-batch="${id}" data-refresh>
    <p class="states">
      <span class="tag ${phase}">${phase}</span>
      ${phase === 'sending' && html`<span>${rate(perSecond)} contacts a second</span>`}
      ${restMs !== null && html`<span>about ${span(restMs)} left</span>`}
    </p>
    ${stateBar(counts)}
    ${standstill !== undefined && html`<p class="note">It stands still: ${standstill}.</p>`}
    ${
      lossNear !== undefined &&
      html`<p class="note bad">
        ${count(lossNear.contacts)} contacts that were not accepted are deleted
        ${moment(lossNear.keptUntil, look.now)}: download or redrive them before.
      </p>`
    }
    <dl class="tiles">
      <div>
        <dt>contacts</dt>
        <dd>${figure('counts.total', counts.total)}</dd>
      </div>
      ${STATES.map(
        ([state, meaning]) =>
          html`<div>
            <dt title="${meaning}"><i class="dot ${state}"></i>${state}</dt>
            <dd>${figure(`counts.${state}`, counts[state])}</dd>
          </div>`,
      )}
    </dl>
    ${
      counts.maybeTwice > 0 &&
      html`<p class="quiet">At most ${count(counts.maybeTwice)} messages came twice.</p>`
    }
    ${mayAct(look) && steering(batch, look)}
  </section>`;
}

function steering({ id, phase, counts }: BatchAnswer, look: PageView): Html {
  const at = `/api/v1/batches/${encodeURIComponent(id)}`;
  const button = (text: string) => html`<button type="submit">${text}</button>`;
  return html`<div class="acts">
    ${(phase === 'sending' || phase === 'importing') && form(look, `${at}/pause`, button('Pause'))}
    ${phase === 'paused' && form(look, `${at}/resume`, button('Resume'))}
    ${
      phase !== 'finished' &&
      phase !== 'cancelled' &&
      ask(
        'Cancel...',
        form(
          look,
          `${at}/cancel`,
          html`<p>
              For good: the ${count(counts.pending)} pending contacts are not sent. What is under
              way is let finish.
            </p>
            ${whyField('why-cancel')}
            <button type="submit" class="danger">Cancel the batch</button>`,
        ),
      )
    }
  </div>`;
}

function failureTable({ batch, failures, noRedrive }: BatchPageData, look: PageView): Html {
  return html`${table(
    'Failures by state and code',
    [head('State'), head('Code'), head('Contacts', true), head('What the service said'), head('')],
    failures.groups.map(
      (group) =>
        html`<tr>
          <td><i class="dot ${group.state}"></i>${group.state}</td>
          <td><code>${group.code}</code></td>
          <td class="number">${count(group.contacts)}</td>
          <td>
            ${group.message === '' ? html`<span class="quiet">nothing</span>` : group.message}${example(group)}
          </td>
          <td>${mayAct(look) && noRedrive === undefined && redrive(batch, group, look)}</td>
        </tr>`,
    ),
  )}
  ${
    noRedrive !== undefined &&
    html`<p class="quiet">Nothing of it can be sent again now: ${noRedrive}.</p>`
  }`;
}

function example({ example: contact }: FailureExample): Html | undefined {
  if (contact === undefined) return undefined;
  const fields = Object.entries(contact).map(([name, value]) => `${name} ${value}`);
  return html`<br /><span class="quiet">for example ${fields.join(', ')}</span>`;
}

/** What a redrive may take: not what was never sent. */
const REDRIVEN: ReadonlySet<string> = new Set(['rejected', 'expired', 'unknown']);

function redrive({ id }: BatchAnswer, group: FailureExample, look: PageView): Html | undefined {
  if (!REDRIVEN.has(group.state)) return undefined;
  const { state, code, contacts } = group;
  const name = `why-${state}-${code}`.replaceAll(/[^A-Za-z0-9-]/g, '-');
  return ask(
    'Send again...',
    form(
      look,
      `/api/v1/batches/${encodeURIComponent(id)}/redrive`,
      html`<p>
          ${count(contacts)} contacts are sent again.
          ${state === 'unknown' && html`<strong>They may arrive twice: nobody knows whether they were taken.</strong>`}
        </p>
        <input type="hidden" name="state" value="${state}" />
        <input type="hidden" name="code" value="${code}" />
        ${whyField(name)}
        <button type="submit" ${state === 'unknown' && html`class="danger"`}>
          Send ${count(contacts)} again
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
      Lists with whole numbers, ready to be imported again. Each download stands in the audit
      stream.
    </p>
    <ul class="plain">
      ${states.map(
        (state) =>
          html`<li>
            <a href="${at}?state=${state}" download>${count(counts[state])} ${state}</a>
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
    <h2>What it is</h2>
    <dl>
      ${rowOf('Template', templateCode)} ${rowOf('Delivery', delivery)}
      ${rowOf('Rows taken', count(rows))} ${rowOf('Rows refused', count(refusedRows))}
      ${rowOf('Duplicates left out', count(duplicateRows))}
      ${rowOf('Chunks', `${count(chunks)} of up to ${count(chunkSize)} contacts`)}
      ${rowOf('Limit', limit === 0 ? 'none of its own' : `${count(limit)} contacts a second`)}
      ${rowOf('Begun', moment(begunAt, now))}
      ${finishedAt !== null && rowOf('Ended', moment(finishedAt, now))}
      ${expiresAt !== null && rowOf('Not sent after', moment(expiresAt, now))}
      ${keptUntil !== null && rowOf('Deleted', moment(keptUntil, now))}
    </dl>
  </section>`;
}

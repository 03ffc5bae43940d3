import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import type { Traffic } from '../../../traffic/traffic.ts';
import { LANES } from '../../../contracts/outcome.ts';
import { isProbed } from '../../../contracts/hold.ts';
import { sentPerSecond } from '../../answers/headline.ts';
import type { ExplainedHold } from '../../answers/account-schemas.ts';
import type { Status } from '../../status.ts';
import { html, type Html } from '../http/html.ts';
import { STALLED_TAG } from '../pages/batches.ts';
import { ask, form, mayAct, moment, whyField, type PageView } from '../pages/elements.ts';
import { rateLimitSection, redisSection, tokenSection, workersSection } from './fleet-sections.ts';

/** Content of the overview. */
export interface OverviewData {
  readonly status: Status;
  readonly traffic: Traffic;
}

/** The worst thing that is true and what to do about it, what needs a person, what waits, and the fleet. */
export function overviewPage({ status, traffic }: OverviewData, view: PageView): Html {
  const { jobs, batches, unknown, workers } = status;
  return html`${stateSection(status, view)} ${attentionSection(status)}
    <section class="card" id="jobs" data-refresh>
      <h2>Queue</h2>
      <dl class="tiles">
        ${tile('waiting', html`${formatCount(jobs.waiting)}`, oldest(status, view.now))}
        ${tile('in flight', html`${formatCount(jobs.active)}`)}
        ${tile('delayed', html`${formatCount(jobs.delayed)}`)}
        ${tile('contacts per second', html`${formatRate(sentPerSecond(workers))}`)}
        ${tile('contacts of lists', html`<a href="/batches">${formatCount(batches.pending)}</a>`)}
        ${tile('unknown', html`<a href="/unknown">${formatCount(unknown.notices + unknown.contacts)}</a>`)}
      </dl>
      ${sentSoFar(status, traffic)}
    </section>
    ${workersSection(workers, view)}
    <div class="columns">
      ${rateLimitSection(status, view)} ${tokenSection(status, view)} ${redisSection(status)}
    </div>`;
}

function stateSection({ headline, hold }: Status, view: PageView): Html {
  const { tone, title, text, until, fault, command, section, batch } = headline;
  return html`<section class="card state ${tone}" id="state" data-refresh>
    <h2>${title}${until !== undefined && html`; resumes ${moment(until, view.now)}`}</h2>
    <p>${text}</p>
    <dl>
      ${fault !== undefined && fact('Whose fault', html`${fault}`)}
      ${command !== undefined && fact('Begin with', html`<code>${command}</code>`)}
      ${section !== undefined && fact('Read', html`<a href="/help#${section}">what it means, and what to do</a>`)}
      ${batch !== undefined && fact('List', html`<a href="/batches/${batch}">${batch}</a>`)}
      ${hold !== undefined && holdFacts(hold, view.now)}
    </dl>
    ${mayAct(view) && holdActions(hold, view)}
  </section>`;
}

function holdFacts({ kind, code, since, nextProbeAt }: ExplainedHold, now: number): Html {
  return html`${fact('Since', moment(since, now))}
  ${isProbed(kind) && kind !== 'throttled' && fact('Next probe', nextProbeAt <= now ? html`now` : moment(nextProbeAt, now))}
  ${code !== '' && fact(kind === 'manual' ? 'Reason given' : 'Code', html`<code>${code}</code>`)}`;
}

const fact = (name: string, value: Html) =>
  html`<dt>${name}</dt>
    <dd>${value}</dd>`;

/** What happens when a hold is lifted that does not come back by itself. */
const LIFT_EFFECTS: Partial<Record<ExplainedHold['kind'], string>> = {
  manual: 'Sending resumes at once.',
  restored:
    'Sending resumes at once. Notices that were sent after the copy was made and are not parked are sent a second time.',
};

function holdActions(hold: ExplainedHold | undefined, view: PageView): Html {
  const place = html`<p>
      No more requests are sent until the hold is lifted; requests in flight finish.
    </p>
    ${whyField('why-hold')}
    <button type="submit" class="danger">Hold the queue</button>`;
  if (hold === undefined) {
    return html`<div class="acts">
      ${ask('Hold the queue...', form(view, '/api/v1/hold/place', place))}
    </div>`;
  }
  const effect =
    LIFT_EFFECTS[hold.kind] ??
    'A token is asked for and sending resumes at once. If the cause persists, the hold comes back by itself.';
  const lift = html`<p>${effect}</p>
    <input type="hidden" name="kind" value="${hold.kind}" />
    ${whyField('why-lift')}
    <button type="submit">Lift the hold</button>`;
  return html`<div class="acts">
    ${ask('Lift the hold...', form(view, '/api/v1/hold/lift', lift))}
  </div>`;
}

/** What a person has to decide or repair; nothing where there is nothing. */
function attentionSection({ unknown, jobs, batches, differing, redis }: Status): Html | false {
  // An unknown notice is one of the failed jobs.
  const failed = Math.max(0, jobs.failed - unknown.notices);
  const undecided = `${countOf(unknown.notices, 'single notice')} and ${countOf(unknown.contacts, 'contact')} of lists`;
  const list = (id: string) => html`<a href="/batches/${id}">${id}</a>`;
  const items = [
    unknown.notices + unknown.contacts > 0 &&
      html`<a href="/unknown">${undecided}</a> with an unknown outcome: the service may have
        accepted them. Decide what they count as.`,
    failed > 0 &&
      html`<a href="/notices">${countOf(failed, 'single notice')}</a> failed and
        ${failed === 1 ? 'is' : 'are'} kept for a while.`,
    ...batches.refused.map(
      ({ id, total, rejected, code }) =>
        html`List ${list(id)}: ${rejected === total ? 'all ' : `${formatCount(rejected)} of `}
          ${countOf(total, 'contact')} rejected, <code>${code}</code>.`,
    ),
    ...batches.openBatches.map(
      ({ id, importStopped, total, continueImport: command }) =>
        importStopped &&
        html`The import of ${list(id)} stopped after ${countOf(total, 'contact')}: run the same
          import again; it continues where it stopped: <code>${command}</code>.`,
    ),
    ...batches.openBatches.map(
      ({ id, stalled, pending, waits }) =>
        stalled &&
        html`${STALLED_TAG} ${list(id)}, ${countOf(pending, 'contact')} pending: ${waits}.`,
    ),
    ...differing.map(
      ({ variable, groups }) =>
        html`Workers differ in <code>${variable}</code>:
          ${groups.map((group) => group.join(', ')).join(' | ')}.`,
    ),
    ...redis.findings.map(({ words, remedy }) => html`Redis: ${words}; ${remedy}`),
  ].filter((item) => item !== false);
  return (
    items.length > 0 &&
    html`<section class="card" id="attention" data-refresh>
      <h2>Needs attention</h2>
      <ul>
        ${items.map((item) => html`<li>${item}</li>`)}
      </ul>
    </section>`
  );
}

/** Contacts accepted in each of the last minutes, and their sums: what was sent, and when it stopped. */
function sentSoFar({ possiblySentTwice: twice }: Status, { minutes, total }: Traffic): Html {
  const accepted = (of: Traffic['total']) =>
    LANES.reduce((sum, lane) => sum + of[lane].accepted, 0);
  const requests = LANES.reduce((sum, lane) => sum + total[lane].requests, 0);
  const repeated = twice.notices + twice.chunks;
  // The last minute is not over yet.
  const values = minutes.slice(-61, -1).map(accepted);
  const most = Math.max(...values, 1);
  const title = `Contacts accepted in each minute of the last hour, ${formatCount(most)} at most, ${formatCount(values.at(-1) ?? 0)} in the last one`;
  const any = values.some((value) => value > 0);
  return html`${
      any &&
      html`<svg class="spark" viewBox="0 0 60 20" preserveAspectRatio="none" role="img">
        <title>${title}</title>
        ${values.map((value, at) => {
          const height = Math.round((value / most) * 200) / 10;
          return html`<rect x="${at}" y="${20 - height}" width="0.8" height="${height}" />`;
        })}
      </svg>`
    }
    <p class="quiet small">
      Last 3 hours: ${countOf(accepted(total), 'contact')} accepted with
      ${countOf(requests, 'request')}.${any && html` ${title}.`}
      ${repeated > 0 && html`At most ${countOf(repeated, 'contact')} possibly sent twice since the account exists.`}
    </p>`;
}

function tile(name: string, value: Html, below?: Html): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
    ${below !== undefined && html`<dd class="quiet small">${below}</dd>`}
  </div>`;
}

function oldest({ oldestWaitingMs }: Status, now: number): Html | undefined {
  return oldestWaitingMs === undefined
    ? undefined
    : moment(now - oldestWaitingMs, now, (span) => `the oldest for ${span}`);
}

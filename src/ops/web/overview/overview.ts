import { countOf, formatCount } from '../../../format/format.ts';
import { HOLDS, isProbed } from '../../../contracts/hold.ts';
import type { ExplainedHold } from '../../manual-hold.ts';
import type { Traffic } from '../../../traffic/traffic.ts';
import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { ask, figure, form, mayAct, moment, whyField, type PageView } from '../pages/elements.ts';
import { rateLimitSection } from './rate-limit.ts';
import { attentionSection, redisSection } from './fleet-sections.ts';
import { tokenSection } from './fleet-sections.ts';
import { trafficSection } from './traffic.ts';
import { workersSection } from './fleet-sections.ts';

/** Content of the overview. */
export interface OverviewData {
  readonly status: StatusAnswer;
  readonly traffic: Traffic;
}

/** The state of the queue, what waits, and why the queue is held. */
export function overviewPage(data: OverviewData, view: PageView): Html {
  const { status, traffic } = data;
  const { unknown, batches } = status;
  const state = stateOf(status);
  return html`<section class="card state ${state.tone}" id="state" data-live="status" data-refresh>
      <h2>${state.title}</h2>
      <p>${state.text}</p>
      ${status.hold !== undefined && held(status.hold, view)}
      ${mayAct(view) && holdActions(status.hold, view)}
    </section>
    <section class="card" id="jobs" data-refresh>
      <h2>Queue</h2>
      <dl class="tiles">
        ${tile('waiting', figure('jobs.waiting', status.jobs.waiting), oldest(status, view.now))}
        ${tile('last full minute', html`${formatCount(lastMinute(traffic))}`, html`contacts accepted`)}
        ${tile('in flight', figure('jobs.active', status.jobs.active))}
        ${tile('delayed', figure('jobs.delayed', status.jobs.delayed))}
        ${tile('failed', figure('jobs.failed', status.jobs.failed))}
        ${tile('contacts of batches', html`<a href="/batches">${formatCount(batches.pending)}</a>`, html`wait to be sent`)}
        ${tile('possibly sent twice', html`${formatCount(status.possiblySentTwice.notices + status.possiblySentTwice.chunks)}`, html`contacts, at most`)}
        ${tile('unknown', html`<a href="/unknown">${formatCount(unknown.notices + unknown.contacts)}</a>`)}
      </dl>
    </section>
    ${attentionSection(status)} ${trafficSection(traffic, status.workers)}
    ${workersSection(status.workers, view)}
    <div class="columns">
      ${rateLimitSection(status.rateLimit, view)} ${tokenSection(status, view)}
      ${redisSection(status)}
    </div>`;
}

/** Contacts that the service accepted in the last full minute. */
function lastMinute({ minutes }: Traffic): number {
  const last = minutes.at(-2);
  return last === undefined ? 0 : last.notices.accepted + last.chunks.accepted;
}

/** The state of the queue in one word, and its explanation. */
function stateOf(status: StatusAnswer): {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly title: string;
  readonly text: string;
} {
  const { hold, templateHolds, workers, jobs, redis, batches } = status;
  const unsent = batches.pending;
  if (hold !== undefined) {
    return {
      tone: 'bad',
      title: `Held: ${hold.kind}`,
      text: `Nothing is sent and no retry is used up: ${hold.reason}.`,
    };
  }
  if (workers.length === 0) {
    return {
      tone: jobs.waiting + unsent > 0 ? 'bad' : 'warn',
      title: 'No worker',
      text: 'Nothing is sent. Start a worker with "notices worker".',
    };
  }
  const refusal = redis.findings.find(({ severity }) => severity === 'refuse');
  if (refusal !== undefined) {
    return {
      tone: 'bad',
      title: 'Redis is unsuitable',
      text: `Workers take no jobs: ${refusal.words}.`,
    };
  }
  if (workers.every(({ unready = [] }) => unready.length > 0)) {
    return {
      tone: 'bad',
      title: 'No worker is ready',
      text: 'The reason is shown with the workers below.',
    };
  }
  const sentRecently = workers.some(({ sent }) => (sent?.requests ?? 0) > 0);
  const stalled = batches.openBatches.filter((batch) => batch.stalled);
  if (stalled.length > 0) {
    return {
      tone: 'bad',
      title: 'Stalled',
      text: `${countOf(stalled.length, 'batch', 'batches')} made no progress for more than a minute; see below what to do.`,
    };
  }
  const [first, ...others] = templateHolds;
  if (first !== undefined) {
    const more = others.length === 0 ? '' : `, and ${countOf(others.length, 'other template')}`;
    const { reason, remedy } = HOLDS[first.kind];
    return {
      tone: 'warn',
      title: `Template ${first.template} is held${more}`,
      text: `${first.code}: ${reason}. Others are sent. What to do: ${remedy}.`,
    };
  }
  if (jobs.waiting + jobs.active > 0 || (unsent > 0 && sentRecently)) {
    return { tone: 'good', title: 'Sending', text: 'Notices are being sent.' };
  }
  return unsent > 0
    ? {
        tone: 'warn',
        title: 'Waiting',
        text: 'Contacts of batches wait, and none was sent recently: their batches may be paused.',
      }
    : { tone: 'good', title: 'Idle', text: 'Nothing waits; new notices are sent at once.' };
}

function held({ kind, code, since, nextProbeAt, remedy }: ExplainedHold, { now }: PageView): Html {
  return html`<dl>
    <dt>What to do</dt>
    <dd>${remedy}</dd>
    <dt>Since</dt>
    <dd>${moment(since, now)}</dd>
    ${
      isProbed(kind) &&
      html`<dt>Next probe</dt>
        <dd>${nextProbeAt <= now ? 'now' : moment(nextProbeAt, now)}</dd>`
    }
    ${
      code !== '' &&
      html`<dt>${kind === 'manual' ? 'Reason given' : 'Code'}</dt>
        <dd><code>${code}</code></dd>`
    }
  </dl>`;
}

/** What happens when a hold is lifted that does not come back by itself. */
const LIFT_EFFECTS: Partial<Record<ExplainedHold['kind'], string>> = {
  manual: 'Sending resumes at once.',
  restored:
    'Sending resumes at once. Notices that were sent after the copy was made and are not parked are sent a second time.',
};

function holdActions(hold: ExplainedHold | undefined, view: PageView): Html {
  if (hold === undefined) {
    return html`<div class="acts">
      ${ask(
        'Hold the queue...',
        form(
          view,
          '/api/v1/hold/place',
          html`<p>No more requests are sent until the hold is lifted; requests in flight finish.</p>
            ${whyField('why-hold')}
            <button type="submit" class="danger">Hold the queue</button>`,
        ),
      )}
    </div>`;
  }
  return html`<div class="acts">
    ${ask(
      'Lift the hold...',
      form(
        view,
        '/api/v1/hold/lift',
        html`<p>
            ${
              LIFT_EFFECTS[hold.kind] ??
              'Sending resumes at once. If the cause persists, the hold comes back by itself.'
            }
          </p>
          <input type="hidden" name="kind" value="${hold.kind}" />
          ${whyField('why-lift')}
          <button type="submit">Lift the hold</button>`,
      ),
    )}
  </div>`;
}

function tile(name: string, value: Html, below?: Html): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
    ${below !== undefined && html`<dd class="quiet small">${below}</dd>`}
  </div>`;
}

function oldest({ oldestWaitingMs }: StatusAnswer, now: number): Html | undefined {
  return oldestWaitingMs === undefined
    ? undefined
    : moment(now - oldestWaitingMs, now, (span) => `the oldest for ${span}`);
}

import { isProbed } from '../../../contracts/hold.ts';
import type { ExplainedHold } from '../../manual-hold.ts';
import type { Traffic } from '../../../traffic/read-traffic.ts';
import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  count,
  figure,
  form,
  mayAct,
  moment,
  span,
  whyField,
  type PageView,
} from './elements.ts';
import { rateLimitSection } from './rate-limit.ts';
import { redisSection } from './fleet-sections.ts';
import { tokenSection } from './fleet-sections.ts';
import { trafficSection } from './traffic.ts';
import { workersSection } from './fleet-sections.ts';

/** All that the overview shows. */
export interface OverviewData {
  readonly status: StatusAnswer;
  /** What is unknown of single notices, and of the newest batches. */
  readonly unknown: { readonly notices: number; readonly contacts: number };
  /** Contacts of batches that are stored and not sent yet. */
  readonly unsent: number;
  readonly traffic: Traffic;
  /** How far back the traffic goes, in minutes. */
  readonly minutes: number;
}

/** What goes, what waits, what is held and why. */
export function overviewPage(sight: OverviewData, look: PageView): Html {
  const { status, unknown, unsent, traffic, minutes } = sight;
  const state = stateOf(sight);
  return html`<section class="card state ${state.tone}" id="state" data-live="status" data-refresh>
      <h2>${state.title}</h2>
      <p>${state.words}</p>
      ${status.hold !== undefined && held(status.hold, look)}
      ${mayAct(look) && holdActs(status.hold, look)}
    </section>
    <section class="card" id="jobs" data-refresh>
      <h2>Queue</h2>
      <dl class="tiles">
        ${tile('waiting', figure('jobs.waiting', status.jobs.waiting), oldest(status))}
        ${tile('in flight', figure('jobs.active', status.jobs.active))}
        ${tile('delayed', figure('jobs.delayed', status.jobs.delayed))}
        ${tile('failed', figure('jobs.failed', status.jobs.failed))}
        ${tile('contacts of batches', html`<a href="/batches">${count(unsent)}</a>`, 'wait to be sent')}
        ${tile('unknown', html`<a href="/unknown">${count(unknown.notices + unknown.contacts)}</a>`)}
      </dl>
    </section>
    ${trafficSection(traffic, minutes)} ${workersSection(status.workers, look)}
    <div class="columns">
      ${rateLimitSection(status.rateLimit, look)} ${tokenSection(status, look)}
      ${redisSection(status)}
    </div>`;
}

/** So many of the last points of ten seconds tell whether anything is sent. */
const LATELY = 4;

/** How it stands in one word, and what that means. */
function stateOf({ status, unsent, traffic }: OverviewData): {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly title: string;
  readonly words: string;
} {
  const { hold, workers, jobs, redis } = status;
  if (hold !== undefined) {
    return {
      tone: 'bad',
      title: `Held: ${hold.kind}`,
      words: `Nothing is sent, and nothing is spent: ${hold.reason}.`,
    };
  }
  if (workers.length === 0) {
    return {
      tone: jobs.waiting + unsent > 0 ? 'bad' : 'warn',
      title: 'No worker',
      words: 'Nothing is sent: start one with "notices worker".',
    };
  }
  const refusal = redis.findings.find(({ severity }) => severity === 'refuse');
  if (refusal !== undefined) {
    return {
      tone: 'bad',
      title: 'Redis is unsuitable',
      words: `Workers take no jobs: ${refusal.words}.`,
    };
  }
  if (workers.every(({ unready = [] }) => unready.length > 0)) {
    return {
      tone: 'bad',
      title: 'No worker is ready',
      words: 'Why stands below, with the workers.',
    };
  }
  const sentOfLate = traffic.recent.slice(-LATELY).some(({ requests }) => requests > 0);
  if (jobs.waiting + jobs.active > 0 || (unsent > 0 && sentOfLate)) {
    return { tone: 'good', title: 'Flowing', words: 'Notices go out.' };
  }
  return unsent > 0
    ? {
        tone: 'warn',
        title: 'Waiting',
        words: 'Contacts of batches wait, and none was sent of late: their batches may be paused.',
      }
    : { tone: 'good', title: 'Idle', words: 'Nothing waits; what comes is sent at once.' };
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

/** What comes of lifting a hold that does not come back by itself. */
const LIFTING: Partial<Record<ExplainedHold['kind'], string>> = {
  manual: 'Sending goes on at once.',
  restored:
    'Sending goes on at once, also of what was sent since the copy was made and has not been parked: it goes out a second time.',
};

function holdActs(hold: ExplainedHold | undefined, look: PageView): Html {
  if (hold === undefined) {
    return html`<div class="acts">
      ${ask(
        'Hold the queue...',
        form(
          look,
          '/api/v1/hold/place',
          html`<p>
              Nothing more is sent until somebody lifts the hold; what is being sent is let finish.
            </p>
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
        look,
        '/api/v1/hold/lift',
        html`<p>
            ${
              LIFTING[hold.kind] ??
              'Sending goes on at once; where the cause lasts, the hold comes back by itself.'
            }
          </p>
          ${whyField('why-lift')}
          <button type="submit">Lift the hold</button>`,
      ),
    )}
  </div>`;
}

function tile(name: string, value: Html, below?: string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
    ${below !== undefined && html`<dd class="quiet small">${below}</dd>`}
  </div>`;
}

function oldest({ oldestWaitingMs }: StatusAnswer): string | undefined {
  return oldestWaitingMs === undefined ? undefined : `the oldest for ${span(oldestWaitingMs)}`;
}

import type { SeenWorker } from '../../../queue/heartbeat.ts';
import type { ExplainedHold } from '../../hold-by-hand.ts';
import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../html.ts';
import {
  ask,
  count,
  figure,
  form,
  head,
  mayAct,
  moment,
  span,
  table,
  whyField,
  type Look,
} from './page-parts.ts';

/** All that the overview shows. */
export interface OverviewSight {
  readonly status: StatusAnswer;
  /** What is unknown of single notices, and of the newest batches. */
  readonly unknown: { readonly notices: number; readonly contacts: number };
}

/** What goes, what waits, what is held and why. */
export function overviewPage({ status, unknown }: OverviewSight, look: Look): Html {
  return html`<section
      class="card state ${stateOf(status).tone}"
      id="state"
      data-live="status"
      data-refresh
    >
      <h2>${stateOf(status).title}</h2>
      <p>${stateOf(status).words}</p>
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
        ${tile('unknown', html`<a href="/unknown">${count(unknown.notices + unknown.contacts)}</a>`)}
      </dl>
    </section>
    ${workers(status.workers, look)}
    <div class="columns">${token(status, look)} ${redis(status)}</div>`;
}

/** How it stands in one word, and what that means. */
function stateOf({ hold, workers, jobs }: StatusAnswer): {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly title: string;
  readonly words: string;
} {
  if (hold !== undefined) {
    return {
      tone: 'bad',
      title: `Held: ${hold.kind}`,
      words: `Nothing is sent, and nothing is spent: ${hold.reason}.`,
    };
  }
  if (workers.length === 0) {
    return {
      tone: jobs.waiting > 0 ? 'bad' : 'warn',
      title: 'No worker',
      words: 'Nothing is sent: start one with "notices worker".',
    };
  }
  return jobs.waiting + jobs.active > 0
    ? { tone: 'good', title: 'Flowing', words: 'Notices go out.' }
    : { tone: 'good', title: 'Idle', words: 'Nothing waits; what comes is sent at once.' };
}

function held({ kind, code, since, nextProbeAt, remedy }: ExplainedHold, { now }: Look): Html {
  return html`<dl>
    <dt>What to do</dt>
    <dd>${remedy}</dd>
    <dt>Since</dt>
    <dd>${moment(since, now)}</dd>
    ${
      kind !== 'manual' &&
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

function holdActs(hold: ExplainedHold | undefined, look: Look): Html {
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
              hold.kind === 'manual'
                ? 'Sending goes on at once.'
                : 'Sending goes on at once; where the cause lasts, the hold comes back by itself.'
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

/** From here on a worker's locks and deadlines begin to slip. */
const SLOW_LOOP_MS = 1_000;

function workers(all: readonly SeenWorker[], { now }: Look): Html {
  return html`<section class="card" id="workers" data-refresh>
    <h2>Workers</h2>
    ${
      all.length === 0
        ? html`<p class="quiet">None is running.</p>`
        : table(
            'Workers',
            [
              head('Host'),
              head('Process', true),
              head('Version'),
              head('Jobs', true),
              head('Started'),
              head('Heard'),
              head('Blocked for', true),
            ],
            all.map(
              (worker) =>
                html`<tr>
                  <td>${worker.host}</td>
                  <td class="number">${worker.pid}</td>
                  <td>${worker.version}</td>
                  <td class="number">${count(worker.active)} of ${count(worker.concurrency)}</td>
                  <td>${moment(worker.startedAt, now)}</td>
                  <td>${span(worker.ageMs)} ago</td>
                  <td class="number ${worker.loopDelayMs >= SLOW_LOOP_MS && 'bad'}">
                    ${span(worker.loopDelayMs)}
                  </td>
                </tr>`,
            ),
          )
    }
  </section>`;
}

function token({ token: slot }: StatusAnswer, { now }: Look): Html {
  const body = () => {
    if (slot === undefined) {
      return html`<p class="quiet">
        Not shown: the ops server does not have BASE_URL and ACCESS_KEY, which name the slot.
      </p>`;
    }
    const { token: stored, refusal, issuing, issuances } = slot;
    return html`<dl>
      <dt>Token</dt>
      <dd>
        ${stored === undefined ? (issuing ? 'being issued' : 'none yet') : html`<code>${stored.id}</code>`}
      </dd>
      ${
        stored !== undefined &&
        html`<dt>Issued</dt>
          <dd>${moment(stored.issuedAt, now)} by ${stored.issuer}</dd>`
      }
      ${
        stored?.expiresAt !== undefined &&
        html`<dt>Ends</dt>
          <dd>${moment(stored.expiresAt, now)}</dd>`
      }
      <dt>Issued lately</dt>
      <dd>${count(issuances)}</dd>
      <dt>Last refusal</dt>
      <dd>${refusal === undefined ? 'none in force' : html`<code>${refusal.code}</code>`}</dd>
    </dl>`;
  };
  return html`<section class="card" id="token" data-refresh>
    <h2>Token</h2>
    ${body()}
  </section>`;
}

function redis({ redis: { version, policy } }: StatusAnswer): Html {
  return html`<section class="card" id="redis" data-refresh>
    <h2>Redis</h2>
    <dl>
      <dt>Version</dt>
      <dd>${version}</dd>
      <dt>Eviction</dt>
      <dd>${policy === '' ? 'not shown' : policy}</dd>
    </dl>
  </section>`;
}

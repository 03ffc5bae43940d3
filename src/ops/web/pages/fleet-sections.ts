import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { count, moment, type PageView, head, span, table } from './elements.ts';
import type { SeenWorker } from '../../../fleet/heartbeat.ts';

const PERSISTENCE = {
  aof: 'append-only file',
  rdb: 'snapshots only',
  none: 'none',
  unknown: 'not shown',
} as const;

/** What Redis says of itself, and what of it costs notices sooner or later. */
export function redisSection({ redis }: Pick<StatusAnswer, 'redis'>): Html {
  const { version, policy, persistence, usedBytes, maxBytes, findings } = redis;
  return html`<section class="card" id="redis" data-refresh>
    <h2>Redis</h2>
    <dl>
      <dt>Version</dt>
      <dd>${version === '' ? 'not shown' : version}</dd>
      <dt>Memory</dt>
      <dd>${memory(usedBytes, maxBytes)}</dd>
      <dt>Eviction</dt>
      <dd>${policy === '' ? 'not shown' : policy}</dd>
      <dt>Persistence</dt>
      <dd>${PERSISTENCE[persistence]}</dd>
    </dl>
    ${findings.map(
      ({ severity, words, remedy }) =>
        html`<p class="note ${severity === 'refuse' && 'bad'}">
          ${severity === 'refuse' && html`<strong>No worker starts on it:</strong>`} ${words};
          ${remedy}.
        </p>`,
    )}
  </section>`;
}

function memory(used: number, max: number): string {
  if (max === 0) return `${megabytes(used)}, no maxmemory`;
  const free = Math.max(0, Math.round((1 - used / max) * 100));
  return `${megabytes(used)} of ${megabytes(max)}, ${free}% free`;
}

function megabytes(bytes: number): string {
  const size = bytes / 1_048_576;
  return size >= 1_024
    ? `${(size / 1_024).toFixed(1)} GiB`
    : `${size.toFixed(size < 10 ? 1 : 0)} MiB`;
}

/** The token that the fleet shares: never its value. */
export function tokenSection({ token: slot }: StatusAnswer, { now }: PageView): Html {
  return html`<section class="card" id="token" data-refresh>
    <h2>Token</h2>
    ${
      slot === undefined
        ? html`<p class="quiet">
            Not shown: the ops server does not have BASE_URL and ACCESS_KEY, which name the slot.
          </p>`
        : facts(slot, now)
    }
  </section>`;
}

function facts(slot: NonNullable<StatusAnswer['token']>, now: number): Html {
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
}

/** From here on a worker's locks and deadlines begin to slip. */
const SLOW_LOOP_MS = 1_000;

/** The worker processes that live, and why one of them takes no jobs. */
export function workersSection(all: readonly SeenWorker[], { now }: PageView): Html {
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
            all.map((worker) => row(worker, now)),
          )
    }
  </section>`;
}

function row(worker: SeenWorker, now: number): Html {
  const { host, pid, version, active, concurrency, startedAt, ageMs, loopDelayMs } = worker;
  const { unready = [] } = worker;
  return html`<tr>
      <td>${host}</td>
      <td class="number">${pid}</td>
      <td>${version}</td>
      <td class="number">${count(active)} of ${count(concurrency)}</td>
      <td>${moment(startedAt, now)}</td>
      <td>${span(ageMs)} ago</td>
      <td class="number ${loopDelayMs >= SLOW_LOOP_MS && 'bad'}">${span(loopDelayMs)}</td>
    </tr>
    ${unready.map(
      ({ reason, since }) =>
        html`<tr>
          <td class="bad" colspan="7">
            ${pid} is not ready: ${reason}, since ${moment(since, now)}
          </td>
        </tr>`,
    )}`;
}

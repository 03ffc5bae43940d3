import { countOf, formatCount, formatDuration, formatSize } from '../../../format/format.ts';
import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { STALLED_TAG } from '../pages/batches.ts';
import { moment, type PageView, head, table } from '../pages/elements.ts';
import type { SeenWorker } from '../../../fleet/heartbeat.ts';

const PERSISTENCE = {
  aof: 'append-only file',
  rdb: 'snapshots only',
  none: 'none',
  unknown: 'not shown',
} as const;

/** Redis: version, memory, settings, and what is wrong with them. */
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
          ${severity === 'refuse' && html`<strong>Workers refuse this Redis:</strong>`} ${words};
          ${remedy}.
        </p>`,
    )}
  </section>`;
}

function memory(used: number, max: number): string {
  if (max === 0) return `${formatSize(used)}, no maxmemory`;
  const free = Math.max(0, Math.round((1 - used / max) * 100));
  return `${formatSize(used)} of ${formatSize(max)}, ${free}% free`;
}

/** The shared token, without its value. */
export function tokenSection({ token: shared }: StatusAnswer, { now }: PageView): Html {
  return html`<section class="card" id="token" data-refresh>
    <h2>Token</h2>
    ${
      shared === undefined
        ? html`<p class="quiet">
            Not shown: BASE_URL and ACCESS_KEY are not configured for the ops server.
          </p>`
        : facts(shared, now)
    }
  </section>`;
}

function facts(shared: NonNullable<StatusAnswer['token']>, now: number): Html {
  const { token: stored, refusal, issuing, issuances } = shared;
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
      html`<dt>Expires</dt>
        <dd>${moment(stored.expiresAt, now)}</dd>`
    }
    <dt>Recently issued</dt>
    <dd>${formatCount(issuances)}</dd>
    <dt>Last refusal</dt>
    <dd>${refusal === undefined ? 'none' : html`<code>${refusal.code}</code>`}</dd>
  </dl>`;
}

/** From this event loop delay on, in milliseconds, locks and deadlines of a worker are at risk. */
const SLOW_LOOP_MS = 1_000;

/** The live worker processes, and why a worker takes no jobs. */
export function workersSection(all: readonly SeenWorker[], { now }: PageView): Html {
  return html`<section class="card" id="workers" data-refresh>
    <h2>Workers</h2>
    ${
      all.length === 0
        ? html`<p class="quiet">No worker is running.</p>`
        : table(
            'Workers',
            [
              head('Host'),
              head('Process', true),
              head('Version'),
              head('Jobs', true),
              head('Started'),
              head('Last heartbeat'),
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
      <td class="number">${formatCount(active)} of ${formatCount(concurrency)}</td>
      <td>${moment(startedAt, now)}</td>
      <td>${moment(now - ageMs, now)}</td>
      <td class="number ${loopDelayMs >= SLOW_LOOP_MS && 'bad'}">${formatDuration(loopDelayMs)}</td>
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

/** What a person has to decide or repair; nothing where there is nothing. */
export function attentionSection({ unknown, jobs, batches, redis }: StatusAnswer): Html | false {
  const stopped = batches.openBatches.filter(({ importStopped }) => importStopped);
  // An unknown notice is one of the failed jobs.
  const failed = Math.max(0, jobs.failed - unknown.notices);
  const unresolved = `${countOf(unknown.notices, 'single notice')} and ${countOf(unknown.contacts, 'contact')} of batches`;
  const items = [
    unknown.notices + unknown.contacts > 0 &&
      html`<a href="/unknown">${unresolved}</a> with an unknown outcome: the service may have
        accepted them. Decide what they count as.`,
    failed > 0 &&
      html`<a href="/notices">${countOf(failed, 'single notice')}</a> failed and
        ${failed === 1 ? 'is' : 'are'} kept for a while.`,
    batches.rejected > 0 &&
      html`<a href="/batches">${countOf(batches.rejected, 'contact')}</a> of batches
        ${batches.rejected === 1 ? 'was' : 'were'} rejected; each batch shows the codes.`,
    ...stopped.map(
      ({ id, total, continueImport: command }) =>
        html`The import of <a href="/batches/${id}">${id}</a> stopped after
          ${countOf(total, 'contact')}: run the same import again; it continues where it stopped:
          <code>${command}</code>, with the list and the other flags of the first time.`,
    ),
    ...batches.openBatches
      .filter(({ stalled }) => stalled)
      .map(
        ({ id, pending, waits }) =>
          html`${STALLED_TAG} <a href="/batches/${id}">${id}</a>, ${countOf(pending, 'contact')}
            pending: ${waits}.`,
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

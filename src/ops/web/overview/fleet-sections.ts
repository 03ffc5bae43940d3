import {
  countOf,
  formatCount,
  formatDuration,
  formatRate,
  formatSize,
} from '../../../format/format.ts';
import { unreadyWords } from '../../answers/unready-words.ts';
import type { Status } from '../../status.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, mayAct, moment, table, whyField, type PageView } from '../pages/elements.ts';
import type { SeenWorker } from '../../../fleet/heartbeat.ts';
import {
  LEAST_OBSERVED,
  MAX_RATE_LIMIT,
  type RateLimitStatus,
} from '../../../fleet/rate-limit/rate-limit-state.ts';

const PERSISTENCE = {
  aof: 'append-only file',
  rdb: 'snapshots only',
  none: 'none',
  unknown: 'not shown',
} as const;

/** Redis: version, memory and settings. */
export function redisSection({ redis }: Pick<Status, 'redis'>): Html {
  const { version, policy, persistence, usedBytes, maxBytes } = redis;
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
  </section>`;
}

function memory(used: number, max: number): string {
  if (max === 0) return `${formatSize(used)}, no maxmemory`;
  const free = Math.max(0, Math.round((1 - used / max) * 100));
  return `${formatSize(used)} of ${formatSize(max)}, ${free}% free`;
}

/** The shared token, without its value. */
export function tokenSection({ token: shared }: Status, { now }: PageView): Html {
  return html`<section class="card" id="token" data-refresh>
    <h2>Token</h2>
    ${
      shared === undefined
        ? html`<p class="quiet">Not shown: no worker runs.</p>`
        : facts(shared, now)
    }
  </section>`;
}

function facts(shared: NonNullable<Status['token']>, now: number): Html {
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
        : table<SeenWorker>(
            'Workers',
            [
              ['Host', ({ host }) => host],
              ['Process', ({ pid }) => pid, 'number'],
              ['Version', ({ version }) => version],
              [
                'Jobs',
                ({ active, concurrency }) =>
                  `${formatCount(active)} of ${formatCount(concurrency)}`,
                'number',
              ],
              ['Last heartbeat', ({ ageMs }) => moment(now - ageMs, now)],
            ],
            all,
            (worker) =>
              troublesOf(worker, now).map((text) => html`<span class="bad">${text}</span>`),
          )
    }
  </section>`;
}

function troublesOf({ pid, loopDelayMs, unready = [] }: SeenWorker, now: number): Html[] {
  return [
    ...(loopDelayMs < SLOW_LOOP_MS
      ? []
      : [
          html`${pid} was blocked for ${formatDuration(loopDelayMs)}: give it more CPU time, or
          lower CONCURRENCY`,
        ]),
    ...unready.map(
      ({ reason, since }) =>
        html`${pid} is not ready: ${unreadyWords(reason)}, since ${moment(since, now)}`,
    ),
  ];
}

/** The rate limit: what is in force, whether it was set manually, and whether a 429 has lowered it. */
export function rateLimitSection({ rateLimit, hold }: Status, view: PageView): Html {
  const isPaused = hold?.kind === 'throttled' && hold.nextProbeAt > view.now;
  return html`<section class="card" id="rate-limit" data-refresh>
    <h2>Rate limit</h2>
    ${
      isPaused &&
      html`<p class="note">
        Paused because the service asked; resumes ${moment(hold.nextProbeAt, view.now)}.
      </p>`
    }
    ${
      rateLimit === undefined
        ? !isPaused && html`<p class="quiet">No limit is set.</p>`
        : limitFacts(rateLimit, isPaused, view.now)
    }
    ${
      mayAct(view) &&
      html`<div class="acts">${ask('Set a rate limit...', rateLimitForm(view))}</div>`
    }
  </section>`;
}

function limitFacts(
  { configured, manual, fall, now: inForce, lowUntil }: RateLimitStatus,
  isPaused: boolean,
  now: number,
): Html {
  const text = (limit: number) =>
    limit === 0 ? 'no limit' : `${countOf(limit, 'request')} per second`;
  // Below that rate a 429 only holds the queue.
  const isLowered = fall !== undefined && fall.from >= LEAST_OBSERVED;
  return html`<dl>
      ${
        !isPaused &&
        html`<dt>In force</dt>
          <dd>
            ${
              inForce === undefined
                ? 'no limit'
                : html`<strong>${formatRate(inForce)}</strong> requests per second`
            }
          </dd>`
      }
      <dt>Configured</dt>
      <dd>${text(configured)}</dd>
      ${
        manual !== undefined &&
        html`<dt>Set manually</dt>
          <dd>${text(manual)}, instead of the configured limit</dd>`
      }
      ${
        isLowered &&
        html`<dt>Last decrease</dt>
          <dd>
            from ${formatRate(fall.from)} to ${formatRate(fall.to)} per second,
            ${moment(fall.at, now)}
          </dd>`
      }
    </dl>
    ${
      lowUntil !== undefined &&
      html`<p class="note">
        The service answered 429 (too many requests), so the limit was lowered. It rises again, and
        is fully restored ${moment(lowUntil, now)}.
      </p>`
    }`;
}

function rateLimitForm(view: PageView): Html {
  return form(
    view,
    '/api/v1/rate-limit',
    html`<p>
        All workers together apply it within seconds, until it is set again. Setting it also ends a
        decrease after a 429.
      </p>
      <label for="rate-limit-set">Requests per second</label>
      <input
        id="rate-limit-set"
        name="rateLimit"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        required
        pattern="[0-9]{1,6}|off|default"
        aria-describedby="rate-limit-help"
      />
      <p class="quiet small" id="rate-limit-help">
        1 to ${formatCount(MAX_RATE_LIMIT)}; <code>off</code> for no limit; <code>default</code> for
        the configured limit
      </p>
      ${whyField('why-rate-limit')}
      <button type="submit">Set the rate limit</button>`,
  );
}

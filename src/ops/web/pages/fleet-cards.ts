import {
  countOf,
  formatCount,
  formatDuration,
  formatRate,
  formatSize,
} from '../../../format/format.ts';
import type { SeenWorker } from '../../../fleet/heartbeat.ts';
import { LEAST_OBSERVED, MAX_RATE_LIMIT } from '../../../fleet/rate-limit/rate-limit-state.ts';
import { PERSISTENCE, SLOW_LOOP_MS, unreadyWords } from '../../answers/headline.ts';
import { setRateLimit } from '../../operations/hold.ts';
import type { Status } from '../../status.ts';
import { html, type Html, type Part } from '../http/html.ts';
import {
  action,
  acts,
  card,
  code,
  facts,
  moment,
  note,
  quiet,
  table,
  type PageView,
} from './elements.ts';

export function redisCard({ redis }: Status): Html {
  const { version, policy, persistence, usedBytes, maxBytes } = redis;
  const free = Math.max(0, Math.round((1 - usedBytes / maxBytes) * 100));
  const most = maxBytes === 0 ? ', no maxmemory' : ` of ${formatSize(maxBytes)}, ${free}% free`;
  const rows: readonly (readonly [string, Part])[] = [
    ['Version', version === '' ? 'not shown' : version],
    ['Memory', `${formatSize(usedBytes)}${most}`],
    ['Eviction', policy === '' ? 'not shown' : policy],
    ['Persistence', PERSISTENCE[persistence]],
  ];
  return card('redis', 'Redis', facts(rows));
}

/** The shared token, without its value. */
export function tokenCard({ token: shared }: Status, { now }: PageView): Html {
  if (shared === undefined) return card('token', 'Token', quiet('Not shown: no worker runs.'));
  const { token, refusal, issuing, issuances } = shared;
  const expiresAt = token?.expiresAt;
  const rows: readonly (readonly [string, Part])[] = [
    ['Token', code(token?.id) ?? (issuing ? 'being issued' : 'none yet')],
    ['Issued', token !== undefined && [moment(token.issuedAt, now), ` by ${token.issuer}`]],
    ['Expires', expiresAt !== undefined && moment(expiresAt, now)],
    ['Recently issued', formatCount(issuances)],
    ['Last refusal', code(refusal?.code) ?? 'none'],
  ];
  return card('token', 'Token', facts(rows));
}

/** The live worker processes, and why a worker takes no jobs. */
export function workersCard(all: readonly SeenWorker[], { now }: PageView): Html {
  if (all.length === 0) return card('workers', 'Workers', quiet('No worker is running.'));
  const troubles = ({ pid, loopDelayMs, unready = [] }: SeenWorker) => [
    loopDelayMs >= SLOW_LOOP_MS &&
      `${pid} was blocked for ${formatDuration(loopDelayMs)}: give it more CPU time, or lower CONCURRENCY`,
    ...unready.map(({ reason, since }) => [
      `${pid} is not ready: ${unreadyWords(reason)}, since `,
      moment(since, now),
    ]),
  ];
  const found = table<SeenWorker>(
    'Workers',
    [
      ['Host', ({ host }) => host],
      ['Process', ({ pid }) => pid, 'number'],
      ['Version', ({ version }) => version],
      [
        'Jobs',
        ({ active, concurrency }) => `${formatCount(active)} of ${formatCount(concurrency)}`,
        'number',
      ],
      ['Last heartbeat', ({ ageMs }) => moment(now - ageMs, now)],
    ],
    all,
    (worker) => {
      const found = troubles(worker).filter((trouble) => trouble !== false);
      return found.length > 0 && found.map((trouble) => html`<span class="bad">${trouble}</span> `);
    },
  );
  return card('workers', 'Workers', found);
}

/** The rate limit: what is in force, whether it was set manually, and whether a 429 has lowered it. */
export function rateLimitCard({ rateLimit, hold }: Status, view: PageView): Html {
  const { now } = view;
  const isPaused = hold?.kind === 'throttled' && hold.nextProbeAt > now;
  const text = (limit: number) =>
    limit === 0 ? 'no limit' : `${countOf(limit, 'request')} per second`;
  const { configured, manual, fall, now: inForce, lowUntil } = rateLimit ?? {};
  const inWords =
    inForce === undefined
      ? 'no limit'
      : html`<strong>${formatRate(inForce)}</strong> requests per second`;
  const byHand = manual !== undefined && `${text(manual)}, instead of the configured limit`;
  // Below that rate a 429 only holds the queue.
  const lowered = fall !== undefined &&
    fall.from >= LEAST_OBSERVED && [
      `from ${formatRate(fall.from)} to ${formatRate(fall.to)} per second, `,
      moment(fall.at, now),
    ];
  const limits = facts([
    ['In force', !isPaused && inWords],
    ['Configured', configured !== undefined && text(configured)],
    ['Set manually', byHand],
    ['Last decrease', lowered],
  ]);
  return card('rate-limit', 'Rate limit', [
    isPaused &&
      note(['Paused because the service asked; resumes ', moment(hold.nextProbeAt, now), '.']),
    rateLimit === undefined ? !isPaused && quiet('No limit is set.') : limits,
    lowUntil !== undefined &&
      note([
        'The service answered 429 (too many requests), so the limit was lowered. It rises again, and is fully restored ',
        moment(lowUntil, now),
        '.',
      ]),
    acts(
      action(view, setRateLimit, {
        opens: 'Set a rate limit...',
        says: 'All workers together apply it within seconds, until it is set again. Setting it also ends a decrease after a 429.',
        more: html`<label
            >Requests per second
            <input
              name="rateLimit"
              autocomplete="off"
              required
              pattern="[0-9]{1,6}|off|default"
              aria-describedby="rate-limit-help"
          /></label>
          <p class="quiet small" id="rate-limit-help">
            1 to ${formatCount(MAX_RATE_LIMIT)}; <code>off</code> for no limit;
            <code>default</code> for the configured limit
          </p>`,
        button: 'Set the rate limit',
      }),
    ),
  ]);
}

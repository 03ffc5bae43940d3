import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';

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

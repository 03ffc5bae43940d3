import type { SeenWorker } from '../../../fleet/heartbeat.ts';
import { html, type Html } from '../http/html.ts';
import { count, head, moment, span, table, type PageView } from './page-parts.ts';

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

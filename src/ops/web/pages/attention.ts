import { countOf } from '../../../format/format.ts';
import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';

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
      ({ id, total }) =>
        html`The import of <a href="/batches/${id}">${id}</a> stopped after
          ${countOf(total, 'contact')}: run the same import again; it continues where it stopped.`,
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

import type { ImportProgress } from '../../batch/import/import-options.ts';
import type { Output } from '../command-context.ts';
import { duration } from '../output.ts';
import { ProgressRate } from './progress-rate.ts';
import { count, countOf, ProgressBar } from '../progress.ts';

/** Least milliseconds between two events of `--json`, and between two looks of the bar. */
const EVENT_MS = 1_000;
const BAR_MS = 100;

/** Shows an import under way: a bar on a terminal, lines elsewhere, or events. */
export class ImportProgressView {
  readonly #bar: ProgressBar;
  readonly #onEvent: ((event: object) => void) | undefined;
  readonly #rows = new ProgressRate();
  readonly #bytes = new ProgressRate();
  #shownAt = -Infinity;
  #latest: ImportProgress | undefined;

  /** @param onEvent takes events in place of a bar */
  constructor(stderr: Output, onEvent: ((event: object) => void) | undefined, dryRun: boolean) {
    this.#onEvent = onEvent;
    this.#bar = new ProgressBar(dryRun ? 'checking' : 'importing', stderr);
  }

  show(progress: ImportProgress): void {
    this.#latest = progress;
    const now = performance.now();
    if (now - this.#shownAt < (this.#onEvent === undefined ? BAR_MS : EVENT_MS)) return;
    this.#draw(progress, now);
  }

  /** Shows how far it came, also where that was too soon after the last look. */
  end(): void {
    if (this.#latest !== undefined) this.#draw(this.#latest, performance.now());
    this.#bar.end();
  }

  #draw(progress: ImportProgress, now: number): void {
    this.#shownAt = now;
    const { rows, bytesRead, totalBytes } = progress;
    this.#rows.read(now, rows);
    this.#bytes.read(now, bytesRead);
    const rest = totalBytes === undefined ? undefined : totalBytes - bytesRead;
    const restMs = rest === undefined ? undefined : this.#bytes.timeFor(rest);
    const perSecond = Math.round(this.#rows.rate);
    if (this.#onEvent !== undefined) {
      const eta = restMs === undefined ? {} : { restMs: Math.round(restMs) };
      this.#onEvent({ event: 'importing', ...progress, perSecond, ...eta });
      return;
    }
    const share = totalBytes === undefined ? undefined : bytesRead / totalBytes;
    this.#bar.show(share, progressText(progress, perSecond, restMs));
  }
}

function progressText(
  { rows, refused, duplicates, waiting }: ImportProgress,
  perSecond: number,
  restMs: number | undefined,
): string {
  return [
    countOf(rows, 'row'),
    ...(refused > 0 ? [`${count(refused)} refused`] : []),
    ...(duplicates > 0 ? [countOf(duplicates, 'duplicate')] : []),
    ...(waiting ? ['waits for workers: enough contacts are unsent'] : []),
    ...(waiting || perSecond === 0 ? [] : [`${count(perSecond)}/s`]),
    ...(restMs === undefined || waiting ? [] : [`${duration(restMs)} left`]),
  ].join(', ');
}

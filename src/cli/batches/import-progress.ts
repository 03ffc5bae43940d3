import type { ImportProgress } from '../../batch/import/import-options.ts';
import { formatDuration, formatCount, countOf, formatRate } from '../../format/format.ts';
import type { Output } from '../command-context.ts';
import { ProgressLines, ProgressRate } from '../progress.ts';

/** Minimum interval of events and lines, in milliseconds. */
const EVERY_MS = 1_000;

/** Shows the progress of an import: lines on standard error, or events. */
export class ImportProgressView {
  readonly #lines: ProgressLines;
  readonly #onEvent: ((event: object) => void) | undefined;
  readonly #rows = new ProgressRate();
  readonly #bytes = new ProgressRate();
  #shownAt = -Infinity;
  #latest: ImportProgress | undefined;

  /** @param onEvent receives events instead of lines */
  constructor(stderr: Output, onEvent: ((event: object) => void) | undefined, dryRun: boolean) {
    this.#onEvent = onEvent;
    this.#lines = new ProgressLines(dryRun ? 'checking' : 'importing', stderr);
  }

  show(progress: ImportProgress): void {
    this.#latest = progress;
    const now = performance.now();
    if (now - this.#shownAt >= EVERY_MS) this.#draw(progress, now);
  }

  /** Shows the final progress, regardless of the interval. */
  end(): void {
    if (this.#latest !== undefined) this.#draw(this.#latest, performance.now());
    this.#lines.end();
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
    this.#lines.show(share, progressText(progress, perSecond, restMs));
  }
}

const WHY_WAITING = {
  memory: 'waiting for memory in Redis',
  'high-water': 'waiting: Redis has HIGH_WATER unsent contacts',
} as const;

function progressText(
  { rows, refused, duplicates, waiting }: ImportProgress,
  perSecond: number,
  restMs: number | undefined,
): string {
  return [
    countOf(rows, 'row'),
    ...(refused > 0 ? [`${formatCount(refused)} rejected`] : []),
    ...(duplicates > 0 ? [countOf(duplicates, 'duplicate')] : []),
    ...(waiting === false ? [] : [WHY_WAITING[waiting]]),
    ...(waiting !== false || perSecond === 0 ? [] : [`${formatRate(perSecond)}/s`]),
    ...(restMs === undefined || waiting !== false ? [] : [`${formatDuration(restMs)} left`]),
  ].join(', ');
}

import { NoticeQueueError } from '../../contracts/errors.ts';
import { formatCount } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { findStored, NumberPrints, printKey } from '../../number-index/number-prints.ts';
import type { RecentList, RecentLists } from '../../number-index/recent-lists.ts';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { StartedBatch } from './begin-batch.ts';
import type { CheckedImportOptions } from './import-options.ts';
import { retryWhileAway } from './retry-while-away.ts';

/** The people of a list who are in a recent list of the same template, too, and what becomes of them. */
export class RepeatedPeople {
  readonly #ledger: Ledger;
  readonly #recent: RecentLists;
  readonly #template: string;
  readonly #key: Buffer;
  /** Prints of the list, in ascending order: of the whole or, where it can be read only once, first of its first rows. */
  #own: Float64Array | undefined;
  /** Prints of those that are left out of this import; undefined for none. */
  leftOut: ReadonlySet<number> | undefined;

  constructor(ledger: Ledger, recent: RecentLists, template: string, secret: string) {
    this.#ledger = ledger;
    this.#recent = recent;
    this.#template = template;
    this.#key = printKey(secret);
  }

  /** For the numbers of a list: {@link take} gets them. */
  prints(): NumberPrints {
    return new NumberPrints(this.#key);
  }

  take(prints: NumberPrints | undefined): void {
    this.#own = prints?.sorted();
  }

  /** Decides on a list of which no batch exists yet. @throws NoticeQueueError LIST_REPEATED */
  async decide({ again, onlyNew }: CheckedImportOptions): Promise<void> {
    const own = this.#own;
    if (again || own === undefined) return;
    const { prints, most } = await this.#find(own, '');
    if (most === undefined) return;
    if (!onlyNew || prints.size === own.length) throw repeated(most, prints.size, own.length);
    this.leftOut = prints;
  }

  /**
   * Stores the people of a list for the comparison with later ones, and forgets them. Of a batch that is continued those
   * are left out who were before.
   */
  async store(
    { batch: { id: batch, begunAt: at }, kind }: StartedBatch,
    { onlyNew, signal }: CheckedImportOptions,
  ): Promise<void> {
    const own = this.#own;
    if (own === undefined) return;
    if (onlyNew && kind === 'continued') this.leftOut = (await this.#find(own, batch)).prints;
    const { leftOut } = this;
    const stored = leftOut === undefined ? own : own.filter((one) => !leftOut.has(one));
    await retryWhileAway(() => this.#recent.add(this.#template, { batch, at }, stored), signal);
    this.#own = undefined;
  }

  /** @param own its batch, which is not compared with itself */
  async #find(sorted: Float64Array, own: string) {
    const prints = new Set<number>();
    let most: (RecentList & { readonly count: number }) | undefined;
    for (const list of await this.#recent.of(this.#template)) {
      if (list.batch === own || isUnsent(await this.#ledger.read(list.batch))) continue;
      let count = 0;
      await findStored(sorted, this.#recent.printsOf(list.batch), (index) => {
        prints.add(sorted[index] ?? 0);
        count++;
      });
      if (count > (most?.count ?? 0)) most = { ...list, count };
    }
    return { prints, most };
  }
}

/** Whether a list was cancelled before anything of it was sent. */
function isUnsent(batch: Batch | undefined): boolean {
  if (batch?.phase !== 'cancelled') return false;
  const { accepted, unknown, sending } = batch.counts;
  return accepted + unknown + sending === 0;
}

/** @param found how many numbers of the list are in any recent one */
function repeated(
  { batch, at, count }: RecentList & { readonly count: number },
  found: number,
  all: number,
): NoticeQueueError {
  const now = Date.now();
  const time = writeTime(Math.min(at, now), now);
  const others =
    found === all
      ? 'So none of them is new.'
      : 'Add --only-new (onlyNew) to send to the others, or --again (again) to send to all.';
  const more = found === count ? '' : ` (and ${formatCount(found - count)} more in other lists)`;
  return new NoticeQueueError(
    'LIST_REPEATED',
    `${formatCount(count)} of ${formatCount(all)} numbers of this list were in batch ${batch}, ${time}${more}; nothing was enqueued. ${others}`,
  );
}

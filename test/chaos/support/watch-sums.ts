import { BATCH } from './settings.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { sumOf } from './judge.ts';

/** Looks at the states of the batch until it is stopped; may be stopped again. */
export interface SumWatch {
  stop(): Promise<{ readonly looks: number; readonly wrongSums: number }>;
}

/** Looks at the ledger some fifty times a second; a Redis that is away says nothing. */
export function watchSums(ledger: Ledger): SumWatch {
  const stopped = new AbortController();
  let looks = 0;
  let wrongSums = 0;
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      const batch = await ledger.read(BATCH).catch(() => undefined);
      if (batch !== undefined) {
        looks++;
        if (sumOf(batch.counts) !== batch.counts.total) wrongSums++;
      }
      await pause(15);
    }
    return { looks, wrongSums };
  })();
  return {
    stop: () => {
      stopped.abort();
      return watching;
    },
  };
}

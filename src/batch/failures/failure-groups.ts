import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  matches,
  selectFailures,
  type FailedState,
  type FailureFilter,
} from './select-failures.ts';

/** Contacts that were not accepted, all for the same reason. */
export interface FailureGroup {
  readonly state: FailedState;
  readonly code: string;
  readonly contacts: number;
  /** Chunks and parts of chunks they stand in: a redrive moves each as a whole. */
  readonly parts: number;
  /** The service's words for one of them, masked; empty where it said nothing. */
  readonly message: string;
}

/** Code of contacts that were never sent because their batch was cancelled. */
export const CANCELLED = 'CANCELLED';

/** Code of contacts that had been sent, with no answer, when their batch was cancelled. */
export const CANCELLED_POSSIBLY_SENT = 'OUTCOME_UNKNOWN';

/** Failures by state and code, the most contacts first. Reads all of them and decodes none. */
export async function groupFailures(
  ledger: Pick<Ledger, 'failures'>,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureGroup[]> {
  const groups = new Map<string, FailureGroup>();
  const add = (more: FailureGroup) => {
    const name = `${more.state} ${more.code}`;
    const sum = groups.get(name);
    groups.set(
      name,
      sum === undefined
        ? more
        : {
            ...sum,
            contacts: sum.contacts + more.contacts,
            parts: sum.parts + more.parts,
            message: sum.message === '' ? more.message : sum.message,
          },
    );
  };
  let unknown = 0;
  for await (const failure of selectFailures(ledger, batch.id, {})) {
    const { state, code, message, size } = failure;
    if (state === 'unknown') unknown += size;
    if (matches(filter, failure)) add({ state, code, contacts: size, parts: 1, message });
  }
  for (const group of cancelledGroups(batch, unknown)) if (matches(filter, group)) add(group);
  return [...groups.values()].sort((a, b) => b.contacts - a.contacts);
}

/** A cancel writes no failures: that is what makes it as fast for a million as for one. */
function cancelledGroups(
  { phase, counts }: Pick<Batch, 'phase' | 'counts'>,
  unknownSoFar: number,
): FailureGroup[] {
  if (phase !== 'cancelled') return [];
  const never = { state: 'cancelled', code: CANCELLED, message: 'never sent' } as const;
  const doubt = {
    state: 'unknown',
    code: CANCELLED_POSSIBLY_SENT,
    message: 'the batch was cancelled before the answer was known',
  } as const;
  return [
    { ...never, contacts: counts.cancelled, parts: 0 },
    { ...doubt, contacts: counts.unknown - unknownSoFar, parts: 0 },
  ].filter(({ contacts }) => contacts > 0);
}

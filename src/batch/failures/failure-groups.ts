import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  matches,
  selectFailures,
  type FailedState,
  type FailureFilter,
} from './select-failures.ts';

/** Contacts of a batch that were not accepted, with the same state and code. */
export interface FailureGroup {
  readonly state: FailedState;
  readonly code: string;
  /** Number of contacts. */
  readonly contacts: number;
  /** Chunks and parts of chunks that contain them; a redrive resends each as a whole. */
  readonly parts: number;
  /** The service's message for one of them, with phone numbers masked; empty if there was none. */
  readonly message: string;
}

/** Code of contacts that were not sent because their batch was cancelled. */
export const CANCELLED = 'CANCELLED';

/** Code of contacts that were possibly sent when their batch was cancelled. */
export const CANCELLED_POSSIBLY_SENT = 'OUTCOME_UNKNOWN';

/** Failures by state and code, the largest group first. Does not read their contacts. */
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

/** Cancelling stores no failures, so that it takes the same time for any number of contacts. */
function cancelledGroups(
  { phase, counts }: Pick<Batch, 'phase' | 'counts'>,
  unknownSoFar: number,
): FailureGroup[] {
  if (phase !== 'cancelled') return [];
  const never = { state: 'cancelled', code: CANCELLED, message: 'never sent' } as const;
  const possiblySent = {
    state: 'unknown',
    code: CANCELLED_POSSIBLY_SENT,
    message: 'the batch was cancelled before the service answered',
  } as const;
  return [
    { ...never, contacts: counts.cancelled, parts: 0 },
    { ...possiblySent, contacts: counts.unknown - unknownSoFar, parts: 0 },
  ].filter(({ contacts }) => contacts > 0);
}

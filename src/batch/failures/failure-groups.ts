import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { POSSIBLY_SENT_AT_CANCEL } from '../ledger/settlement.ts';
import { NEVER_SENT } from './cancelled-chunks.ts';
import { matches, type FailedState, type FailureFilter } from './select-failures.ts';

/** Contacts of a batch that were not accepted, with the same state and code. */
export interface FailureGroup {
  readonly state: FailedState;
  readonly code: string;
  readonly contacts: number;
  /** Chunks and parts of chunks that contain them; a redrive resends each as a whole. */
  readonly parts: number;
  readonly message: string;
}

/** A group, with the name of one of its failures; empty where none is known. */
interface NamedGroup extends FailureGroup {
  readonly first: string;
}

export type GroupSource = Pick<Ledger, 'failureSums'>;

/** Failures by state and code, the largest group first. Does not read their contacts. */
export async function groupFailures(
  ledger: GroupSource,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureGroup[]> {
  const groups = await readGroups(ledger, batch, filter);
  return groups.map((group) => {
    const { first: _, ...shown } = group;
    return shown;
  });
}

/** The same, with the name of a failure of each group. @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function readGroups(
  ledger: GroupSource,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<NamedGroup[]> {
  const sums = await ledger.failureSums(batch.id);
  const ofUnknown = sums.filter(({ state }) => state === 'unknown');
  const unknown = ofUnknown.reduce((sum, { contacts }) => sum + contacts, 0);
  const groups = new Map<string, NamedGroup>(sums.map((sum) => [nameOf(sum), sum]));
  for (const left of cancelledGroups(batch, unknown)) {
    const same = groups.get(nameOf(left));
    const contacts = left.contacts + (same?.contacts ?? 0);
    groups.set(nameOf(left), { ...left, first: '', ...same, contacts });
  }
  return [...groups.values()].filter((group) => matches(filter, group)).sort(byContacts);
}

const nameOf = ({ state, code }: FailureGroup): string => `${state} ${code}`;

/** The largest first; in the order of their names where they are as large. */
const byContacts = (a: FailureGroup, b: FailureGroup): number =>
  b.contacts - a.contacts || (nameOf(a) < nameOf(b) ? -1 : 1);

/**
 * The counter of cancelled contacts has those, too, that a person discarded or erased, which the service may have
 * accepted.
 */
const CANCELLED_OR_DISCARDED = 'never sent, or discarded or erased';

/** Cancelling stores no failures, so that it takes the same time for any number of contacts. */
function cancelledGroups(
  { phase, counts }: Pick<Batch, 'phase' | 'counts'>,
  unknownSoFar: number,
): FailureGroup[] {
  if (phase !== 'cancelled') return [];
  return [
    { ...NEVER_SENT, message: CANCELLED_OR_DISCARDED, contacts: counts.cancelled, parts: 0 },
    { ...POSSIBLY_SENT_AT_CANCEL, contacts: counts.unknown - unknownSoFar, parts: 0 },
  ].filter(({ contacts }) => contacts > 0);
}

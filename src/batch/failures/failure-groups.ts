import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { POSSIBLY_SENT_AT_CANCEL } from '../ledger/settlement.ts';
import { NEVER_SENT } from './cancelled-chunks.ts';
import { matches, type FailedState, type FailureFilter } from './select-failures.ts';

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

/** A group, with the name of one of its failures; without one where none is known. */
interface NamedGroup extends FailureGroup {
  readonly first?: string | undefined;
}

/** What {@link readGroups} found. */
interface FoundGroups {
  /** The largest first. */
  readonly groups: readonly NamedGroup[];
  /** False where there are more failures than were read: the groups then cover only a part. */
  readonly complete: boolean;
}

/** The reads of the ledger that groups need. */
export type GroupSource = Pick<Ledger, 'failureSums' | 'failures'>;

/** Failures by state and code, the largest group first. Does not read their contacts. */
export async function groupFailures(
  ledger: GroupSource,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureGroup[]> {
  const { groups } = await readGroups(ledger, batch, filter);
  return groups.map(({ state, code, contacts, parts, message }) => {
    return { state, code, contacts, parts, message };
  });
}

/**
 * The same, with the name of a failure of each group.
 *
 * @param most failures that are read at most where the ledger has no sums of them. Default: all
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readGroups(
  ledger: GroupSource,
  batch: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
  most = Infinity,
): Promise<FoundGroups> {
  const sums = await ledger.failureSums(batch.id);
  const { groups: all, complete } =
    sums === undefined
      ? await sumUpFailures(ledger, batch.id, most)
      : { groups: sums, complete: true };
  const unknown = all.reduce(
    (sum, { state, contacts }) => sum + (state === 'unknown' ? contacts : 0),
    0,
  );
  // Without all failures, the contacts left pending by a cancel cannot be computed as a rest.
  const cancelled = complete ? cancelledGroups(batch, unknown) : [];
  const groups = mergeGroups([...all, ...cancelled].filter((group) => matches(filter, group)));
  return { groups: groups.sort(byContacts), complete };
}

/** The largest first; in the order of their names where they are as large. */
const byContacts = (a: FailureGroup, b: FailureGroup): number =>
  b.contacts - a.contacts || (`${a.state} ${a.code}` < `${b.state} ${b.code}` ? -1 : 1);

/** Reads failures, each once: Redis may return one twice while others are added or removed. */
async function sumUpFailures(
  ledger: Pick<Ledger, 'failures'>,
  id: string,
  most: number,
): Promise<FoundGroups> {
  const seen = new Set<string>();
  const found: NamedGroup[] = [];
  for await (const { name, state, code, message, size } of ledger.failures(id)) {
    if (seen.has(name)) continue;
    if (seen.size >= most) return { groups: mergeGroups(found), complete: false };
    seen.add(name);
    found.push({ state, code, contacts: size, parts: 1, message, first: name });
  }
  return { groups: mergeGroups(found), complete: true };
}

/** One group for each state and code. */
function mergeGroups(all: readonly NamedGroup[]): NamedGroup[] {
  const groups = new Map<string, NamedGroup>();
  for (const more of all) {
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
  }
  return [...groups.values()];
}

/** The counter of cancelled contacts has those, too, that a person discarded or erased, which the service may have accepted. */
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

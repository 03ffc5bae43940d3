import type { Contact } from '../../contracts/notice.ts';
import { encodeContacts } from '../../payload/chunk-payload.ts';
import type { Seal } from '../../payload/seal.ts';
import type { Batch } from '../ledger/batch-record.ts';
import type { RedriveRefusal } from '../ledger/ledger.ts';
import { UNREADABLE, type FailureRecord } from '../ledger/ledger-reader.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { POSSIBLY_SENT_AT_CANCEL } from '../ledger/settlement.ts';

/** Final states of contacts that were not accepted. Of a list the suppressed ones are in its results alone. */
export const FAILED_STATES = ['rejected', 'unknown', 'expired', 'cancelled', 'suppressed'] as const;

export type FailedState = (typeof FAILED_STATES)[number];

/** Selects failures; a field that is undefined matches all. */
export interface FailureFilter {
  readonly state?: FailedState | undefined;
  readonly code?: string | undefined;
}

function matches(
  { state, code }: FailureFilter,
  failure: { readonly state: string; readonly code: string },
): boolean {
  return (
    (state === undefined || failure.state === state) &&
    (code === undefined || failure.code === code)
  );
}

/** Contacts of a batch that were not accepted: a chunk or part of one. */
export interface FailedContacts extends Omit<FailureRecord, 'state'> {
  readonly state: FailedState;
}

/** A chunk that waits or is being sent, or that its batch's cancel left as it was. */
export interface OpenChunk extends Omit<FailureRecord, 'size' | 'state'> {
  readonly state: 'pending' | 'cancelled' | 'unknown';
}

/** Contacts that were not sent because their batch was cancelled. */
const NEVER_SENT = { state: 'cancelled', code: 'CANCELLED', message: 'never sent' } as const;

/** What a cancel says of chunks that it left: it takes the same time for any number. Others are being sent. */
const WHY_CANCELLED = {
  pending: NEVER_SENT,
  'pending-possibly-sent': POSSIBLY_SENT_AT_CANCEL,
  sending: undefined,
  'sending-possibly-sent': undefined,
} as const;

/** The chunks without an end of their own: what waits, what is being sent, and what a cancel left. */
export async function* openChunks(
  ledger: Pick<Ledger, 'unsettled'>,
  { id, phase, chunks, finishedAt, movedAt }: Batch,
): AsyncGenerator<OpenChunk> {
  const at = finishedAt === 0 ? movedAt : finishedAt;
  for await (const { chunk, state } of ledger.unsettled(id, chunks)) {
    const name = String(chunk);
    const why = phase === 'cancelled' ? WHY_CANCELLED[state] : undefined;
    if (why === undefined) yield { name, state: 'pending', code: '', message: '', at: 0 };
    else yield { name, ...why, at };
  }
}

/** All that was not accepted of a batch and matches: its failures, and what its cancel left as it was. */
export async function* failedParts(
  ledger: Pick<Ledger, 'failures' | 'unsettled' | 'sizeOf'>,
  batch: Batch,
  filter: FailureFilter,
): AsyncGenerator<FailedContacts> {
  for await (const failure of ledger.failures(batch.id)) {
    if (matches(filter, failure)) yield failure;
  }
  if (batch.phase !== 'cancelled') return;
  for await (const { state, ...chunk } of openChunks(ledger, batch)) {
    if (state === 'pending' || !matches(filter, { state, code: chunk.code })) continue;
    yield { ...chunk, state, size: await ledger.sizeOf(batch, chunk.name) };
  }
}

/** The trace ids in the message of a failure. */
export const tracesOf = (message: string): string =>
  /\(trace ids? ([^)]*)\)$/.exec(message)?.[1] ?? '';

/** Contacts that were not accepted, with the same state and code. */
export interface FailureGroup {
  readonly state: FailedState;
  readonly code: string;
  readonly contacts: number;
  readonly message: string;
}

export type GroupSource = Pick<Ledger, 'failureSums'>;

/**
 * The counter of cancelled contacts has those, too, that a person discarded or erased, which the service may have
 * accepted.
 */
const CANCELLED_OR_DISCARDED = 'never sent, or discarded or erased';

/**
 * What was not accepted of a batch by state and code, the largest group first; its cost does not grow with their number.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function groupFailures(
  ledger: GroupSource,
  { id, phase, counts }: Pick<Batch, 'id' | 'phase' | 'counts'>,
  filter: FailureFilter = {},
): Promise<FailureGroup[]> {
  const sums: FailureGroup[] = [...(await ledger.failureSums(id))];
  const contactsOf = (of: FailedState) =>
    sums.reduce((sum, { state, contacts }) => sum + (state === of ? contacts : 0), 0);
  const unreadable = sums.filter(({ code }) => code === UNREADABLE.code);
  for (const sum of unreadable) {
    sums.push({ ...sum, contacts: counts[sum.state] - contactsOf(sum.state) });
  }
  if (phase === 'cancelled') {
    // Cancelling stores no failures.
    const unknown = counts.unknown - contactsOf('unknown');
    sums.push(
      { ...NEVER_SENT, message: CANCELLED_OR_DISCARDED, contacts: counts.cancelled },
      { ...POSSIBLY_SENT_AT_CANCEL, contacts: unknown },
    );
  }
  return groupsOf(sums.filter((group) => group.contacts > 0 && matches(filter, group)));
}

/** Sums up what has the same state and code, the largest group first. */
export function groupsOf(found: Iterable<FailureGroup>): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { state, code, contacts, message } of found) {
    const name = nameOf({ state, code });
    const same = groups.get(name) ?? { contacts: 0, message };
    groups.set(name, { state, code, contacts: same.contacts + contacts, message: same.message });
  }
  return [...groups.values()].sort(
    (a, b) => b.contacts - a.contacts || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
}

const nameOf = ({ state, code }: Pick<FailureGroup, 'state' | 'code'>) => `${state} ${code}`;

/** Some contacts of a failure, and the others. */
export interface SomeContacts {
  readonly taken: Contact[];
  readonly rest: Contact[];
}

/**
 * Makes a failure that has exactly these contacts.
 *
 * @returns its name; undefined where the failure has changed meanwhile
 */
export async function splitOff(
  ledger: Pick<Ledger, 'splitFailure'>,
  batch: string,
  { name, state }: Pick<FailureRecord, 'name' | 'state'>,
  { taken, rest }: SomeContacts,
  seal: Seal,
): Promise<string | undefined> {
  if (rest.length === 0) return name;
  const [payload, left] = await Promise.all([
    encodeContacts(taken, seal),
    encodeContacts(rest, seal),
  ]);
  const part = { size: taken.length, payload, rest: left };
  return ledger.splitFailure(batch, name, taken.length + rest.length, part, state);
}

/** Why a batch cannot be sent again now, as text; undefined if it can. */
export function whyNotRedrive(
  { id, phase, expiresAt }: Pick<Batch, 'id' | 'phase' | 'expiresAt'>,
  now: number,
): string | undefined {
  if (phase !== 'sending' && phase !== 'finished') return refusalText(id, phase);
  return expiresAt > 0 && expiresAt <= now ? refusalText(id, 'late') : undefined;
}

export function refusalText(id: string, refusal: RedriveRefusal): string {
  switch (refusal) {
    case 'importing':
      return 'its import has not finished';
    case 'paused':
      return `it is paused; run "notices resume ${id}" first`;
    case 'cancelled':
      return `it was cancelled; "notices failures ${id} --state cancelled --csv" writes a file that can be imported as another batch`;
    case 'late':
      return `its deadline has passed; "notices failures ${id} --state expired --csv", or with "--state rejected", writes a file that can be imported as another batch`;
  }
}

/**
 * The state of one chunk, as the ledger keeps it in four bits.
 *
 * - `none`: not stored.
 * - `pending`: stored, waiting for its job. `maybe-pending` is the same after an attempt whose
 *   outcome is not known: the service may have taken it already. In a cancelled batch they are over:
 *   its contacts count as cancelled and as unknown.
 * - `sending`, `maybe-sending`: claimed by an attempt.
 * - `settled`: over. How many of its contacts were accepted is in the batch's counters; those that
 *   were not are in its failures.
 *
 * claim, by an attempt that owns the job: pending → sending, maybe-pending → maybe-sending. From
 * sending and maybe-sending, when another attempt has claimed it: under at-most-once → settled, as
 * unknown; under at-least-once → maybe-sending, or → maybe-pending where the batch is paused, was
 * cancelled, or its rate says later. Past the deadline → settled, as expired or, from maybe states,
 * as unknown.
 * settle: sending → settled, or back → pending, with doubt → maybe-pending (under at-most-once: →
 * settled, as unknown); a part may be settled and the rest go back. From maybe-sending what goes back
 * goes to maybe-pending, and a refusal counts as unknown: the earlier attempt may have been taken.
 *
 * A redrive does not revive a chunk: it makes a new one of what failed.
 */
export const CHUNK_STATES = [
  'none',
  'pending',
  'maybe-pending',
  'sending',
  'maybe-sending',
  'settled',
] as const;

/** Name of a chunk's state. */
export type ChunkState = (typeof CHUNK_STATES)[number];

/** The number under which a state is stored. */
export function stateNumber(state: ChunkState): number {
  return CHUNK_STATES.indexOf(state);
}

/** The state that a stored number stands for; `none` for one that is not known. */
export function stateOf(number: number): ChunkState {
  return CHUNK_STATES[number] ?? 'none';
}

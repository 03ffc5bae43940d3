/**
 * The state of a chunk, stored as four bits.
 *
 * - `none`: not stored.
 * - `pending`: stored, not being sent. `pending-possibly-sent`: the same after an attempt with an unknown outcome; the
 *   service may have accepted it. In a cancelled batch both are final: the contacts count as cancelled and as unknown.
 * - `sending`, `sending-possibly-sent`: claimed by an attempt.
 * - `settled`: final. The counters of the batch include its accepted contacts, the failures of the batch contain the
 *   others.
 *
 * A claim, by an attempt that owns the job, leads from `pending` to `sending` and from `pending-possibly-sent` to
 * `sending-possibly-sent`. If the chunk is claimed already, that attempt crashed: under at-most-once the chunk is
 * settled as unknown; under at-least-once it becomes `sending-possibly-sent`, or `pending-possibly-sent` if the batch
 * is paused, cancelled or must wait for its rate; settled as unknown where it was possibly sent more often than the
 * worker's UNKNOWN_RESENDS. After the deadline the chunk is settled: as unknown if possibly sent, else as expired.
 *
 * A settlement leads from `sending` to `settled`, back to `pending`, or to `pending-possibly-sent` if the outcome is
 * unknown (under at-most-once: settled as unknown). From `sending-possibly-sent` it goes back to
 * `pending-possibly-sent`, and a rejection counts as unknown: the earlier attempt may have been accepted. An acceptance
 * that comes late leads from `sending-possibly-sent` and `pending-possibly-sent` to `settled`, whichever attempt reports
 * it.
 *
 * A chunk that the service refuses, perhaps because of one contact, is halved: it is `settled` without contacts, and
 * two new chunks have them, `pending` or `pending-possibly-sent` as it was claimed.
 *
 * A redrive does not change a settled chunk: it creates a new one.
 */
export const CHUNK_STATES = [
  'none',
  'pending',
  'pending-possibly-sent',
  'sending',
  'sending-possibly-sent',
  'settled',
] as const;

export type ChunkState = (typeof CHUNK_STATES)[number];

export function stateNumber(state: ChunkState): number {
  return CHUNK_STATES.indexOf(state);
}

export function stateOf(number: number): ChunkState {
  return CHUNK_STATES[number] ?? 'none';
}

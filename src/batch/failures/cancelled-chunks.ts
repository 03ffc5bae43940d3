import type { Batch } from '../ledger/batch-record.ts';
import type { ChunkState } from '../ledger/settlement.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { POSSIBLY_SENT_AT_CANCEL } from '../ledger/settlement.ts';
import type { FailedState } from './select-failures.ts';

/** Contacts that were not sent because their batch was cancelled. */
export const NEVER_SENT = { state: 'cancelled', code: 'CANCELLED', message: 'never sent' } as const;

/**
 * A chunk that waited when its batch was cancelled. It has no failure: cancelling takes the same time for any number.
 */
export interface CancelledChunk {
  readonly name: string;
  readonly state: FailedState & ('cancelled' | 'unknown');
  readonly code: string;
  readonly message: string;
  /** When the batch ended, or else when it last changed: Redis time, milliseconds since the epoch. */
  readonly at: number;
}

/** Chunks whose states are read at a time. */
const CHUNKS_PER_READ = 4_096;

/** A chunk that waits or is being sent, or that its batch's cancel left as it was. */
export interface OpenChunk extends Omit<CancelledChunk, 'state'> {
  readonly state: 'pending' | CancelledChunk['state'];
}

/** The chunks without an end of their own: what waits, what is being sent, and what a cancel left. */
export async function* openChunks(
  ledger: Pick<Ledger, 'states'>,
  { id, phase, chunks, finishedAt, movedAt }: Batch,
): AsyncGenerator<OpenChunk> {
  const at = finishedAt === 0 ? movedAt : finishedAt;
  for (let first = 0; first < chunks; first += CHUNKS_PER_READ) {
    const end = Math.min(chunks, first + CHUNKS_PER_READ);
    for (const [index, state] of (await ledger.states(id, first, end)).entries()) {
      if (state === 'none' || state === 'settled') continue;
      const name = String(first + index);
      const why = phase === 'cancelled' ? WHY_CANCELLED[state] : undefined;
      if (why === undefined) yield { name, state: 'pending', code: '', message: '', at: 0 };
      else yield { name, ...why, at };
    }
  }
}

/** What a cancel left as it was. Those that are decided on, wholly or in part, become failures. */
export async function* cancelledChunks(
  ledger: Pick<Ledger, 'states'>,
  batch: Batch,
): AsyncGenerator<CancelledChunk> {
  if (batch.phase !== 'cancelled') return;
  for await (const { state, ...chunk } of openChunks(ledger, batch)) {
    if (state !== 'pending') yield { state, ...chunk };
  }
}

/** Chunks in other states are being sent. */
const WHY_CANCELLED: {
  readonly [State in ChunkState]?: Pick<CancelledChunk, 'state' | 'code' | 'message'>;
} = { pending: NEVER_SENT, 'pending-possibly-sent': POSSIBLY_SENT_AT_CANCEL };

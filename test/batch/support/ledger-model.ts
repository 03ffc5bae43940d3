import { type BatchCounts, type BatchPhase } from '../../../src/batch/ledger/batch-record.ts';
import type { ChunkState } from '../../../src/batch/ledger/settlement.ts';
import type { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { Settlement } from '../../../src/batch/ledger/settlement.ts';
import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';

/**
 * A model of the ledger of one batch, without Redis: the expected result of each operation, and how
 * many contacts are in each state. It stores every contact by name and recounts each time, so that
 * it cannot make the mistakes of a ledger that adds and subtracts.
 */

type FailureState = 'rejected' | 'unknown' | 'expired';

interface ModelChunk {
  state: ChunkState;
  contacts: readonly string[];
  /** The attempt that has claimed it. */
  holder: string | undefined;
  parts: number;
  /** The chunk of the list that it was cut from. */
  readonly root: number;
}

interface ModelFailure {
  readonly state: FailureState;
  readonly code: string;
  readonly contacts: readonly string[];
}

export class LedgerModel {
  readonly #delivery: DeliveryPolicy;
  readonly chunks: ModelChunk[] = [];
  /** Chunks of the list. */
  stored = 0;
  readonly failures = new Map<string, ModelFailure>();
  phase: BatchPhase = 'importing';
  queued = 0;
  readonly events = { finished: 0, rejected: 0 };
  #resumeTo: BatchPhase = 'importing';
  #imported = false;
  #over = false;
  #expired = false;
  /** Of contacts that are no longer stored. */
  readonly #gone = { accepted: 0, cancelled: 0 };
  #twice = 0;
  #total = 0;

  constructor(delivery: DeliveryPolicy) {
    this.#delivery = delivery;
  }

  counts(): BatchCounts {
    const inState = (...states: ChunkState[]) =>
      this.chunks
        .filter(({ state }) => states.includes(state))
        .reduce((sum, { contacts }) => sum + contacts.length, 0);
    const failed = (wanted: FailureState) =>
      [...this.failures.values()]
        .filter(({ state }) => state === wanted)
        .reduce((sum, { contacts }) => sum + contacts.length, 0);
    const cancelled = this.phase === 'cancelled';
    const sending = inState('sending', 'sending-possibly-sent');
    return {
      total: this.#total,
      pending: sending + (cancelled ? 0 : inState('pending', 'pending-possibly-sent')),
      sending,
      accepted: this.#gone.accepted,
      rejected: failed('rejected'),
      unknown: failed('unknown') + (cancelled ? inState('pending-possibly-sent') : 0),
      expired: failed('expired'),
      cancelled: this.#gone.cancelled + (cancelled ? inState('pending') : 0),
      suppressed: 0,
      possiblySentTwice: this.#twice,
    };
  }

  store(contacts: readonly string[]): 'stored' | 'gone' {
    if (this.phase === 'cancelled' || this.#imported) return 'gone';
    this.#add(contacts);
    this.stored += 1;
    this.#total += contacts.length;
    return 'stored';
  }

  /** What a store answers for a chunk that is there, or that is not the next one. */
  storeAgain(chunk: number): 'known' | 'gone' {
    return this.phase === 'cancelled' || chunk > this.stored ? 'gone' : 'known';
  }

  endImport(): void {
    if (this.#imported) return;
    this.#imported = true;
    if (this.phase === 'importing') this.phase = 'sending';
    this.#resumeTo = 'sending';
    this.#finishIfDone();
  }

  passDeadline(): void {
    this.#expired = true;
  }

  claim(index: number, nonce: string): string {
    const chunk = this.chunks[index];
    if (chunk === undefined) return 'gone';
    if (chunk.state === 'settled') return 'settled';
    const underWay = chunk.state === 'sending' || chunk.state === 'sending-possibly-sent';
    const possiblySent = underWay || chunk.state === 'pending-possibly-sent';
    if (underWay && chunk.holder === nonce) return 'send';
    if (underWay && this.#delivery === 'at-most-once') {
      this.#fail(index, 'unknown', 'OUTCOME_UNKNOWN');
      return 'parked';
    }
    if (this.phase === 'cancelled' || this.phase === 'paused') {
      if (underWay) this.#back(chunk, 'pending-possibly-sent');
      this.#finishIfDone();
      return this.phase;
    }
    if (this.#expired) {
      this.#fail(index, possiblySent ? 'unknown' : 'expired', 'EXPIRED');
      return 'expired';
    }
    if (possiblySent) this.#twice += chunk.contacts.length;
    chunk.state = possiblySent ? 'sending-possibly-sent' : 'sending';
    chunk.holder = nonce;
    return 'send';
  }

  settle(index: number, nonce: string, said: Settlement): 'settled' | 'known' {
    const chunk = this.chunks[index];
    const isAccepted = said.kind === 'accepted';
    const waits = chunk?.state === 'pending-possibly-sent' && this.phase !== 'cancelled';
    const underWay = chunk?.state === 'sending' || chunk?.state === 'sending-possibly-sent';
    if (chunk === undefined || !(underWay || (waits && isAccepted))) return 'known';
    const possiblySent = chunk.state !== 'sending';
    if (chunk.holder !== nonce && !(possiblySent && isAccepted)) return 'known';
    const mayBeTaken =
      isAccepted || (said.kind === 'back' ? said.possiblySent : said.state === 'unknown');
    if (possiblySent && !mayBeTaken) this.#twice -= chunk.contacts.length;
    const again = possiblySent || mayBeTaken;
    if (isAccepted) {
      this.#gone.accepted += chunk.contacts.length;
      this.#end(chunk);
    } else if (said.kind === 'failed') {
      const state = possiblySent ? 'unknown' : said.state;
      if (state === 'rejected') this.events.rejected += 1;
      this.#fail(index, state, said.code);
    } else if (again && this.#delivery === 'at-most-once') {
      this.#fail(index, 'unknown', 'OUTCOME_UNKNOWN');
    } else this.#back(chunk, again ? 'pending-possibly-sent' : 'pending');
    this.#finishIfDone();
    return 'settled';
  }

  /** A refused chunk is replaced by two. */
  halve(index: number, nonce: string, first: number): 'halved' | 'known' {
    const chunk = this.chunks[index];
    if (chunk?.state !== 'sending' && chunk?.state !== 'sending-possibly-sent') return 'known';
    if (chunk.holder !== nonce) return 'known';
    const state = chunk.state === 'sending' ? 'pending' : 'pending-possibly-sent';
    if (state === 'pending-possibly-sent') this.#twice -= chunk.contacts.length;
    for (const half of [chunk.contacts.slice(0, first), chunk.contacts.slice(first)]) {
      this.#add(half, chunk.root, state);
    }
    this.#end(chunk);
    this.#finishIfDone();
    return 'halved';
  }

  control(verb: 'pause' | 'resume' | 'cancel'): boolean {
    const open = this.phase === 'importing' || this.phase === 'sending';
    const movable = open || this.phase === 'paused';
    if (verb === 'cancel') {
      if (!movable) return this.phase === 'cancelled';
      this.phase = 'cancelled';
      this.#imported = true;
    } else if (verb === 'pause') {
      if (!open) return this.phase === 'paused';
      this.#resumeTo = this.phase;
      this.phase = 'paused';
    } else {
      if (this.phase !== 'paused') return open;
      this.phase = this.#resumeTo;
      this.queued = 0;
    }
    this.#finishIfDone();
    return true;
  }

  redrive(
    name: string,
    state: FailureState,
    isHeld: boolean,
  ): Awaited<ReturnType<Ledger['redrive']>> {
    const failure = this.failures.get(name);
    const { phase } = this;
    const mayBe = phase === 'finished' || phase === 'sending';
    if (!mayBe && !(isHeld && phase !== 'cancelled')) return phase;
    if (this.#expired) return 'late';
    if (failure?.state !== state) return 'known';
    this.failures.delete(name);
    this.#add(failure.contacts, this.chunks[Number.parseInt(name, 10)]?.root);
    if (state === 'unknown') this.#twice += failure.contacts.length;
    if (phase === 'finished') this.phase = 'sending';
    this.#over = false;
    return 'redriven';
  }

  /** What a person can decide on: failures, and what a cancel left as unknown. */
  decidable(): string[] {
    const left = [...this.chunks.keys()].filter((index) => this.#isLeft(String(index)));
    return [...this.failures.keys(), ...left.map(String)];
  }

  resolve(name: string, as: 'accepted' | 'cancelled', state: FailureState): boolean {
    const failure = this.#decide(name);
    if (failure?.state !== state) return false;
    this.failures.delete(name);
    this.#gone[as] += failure.contacts.length;
    return true;
  }

  /** Takes so many contacts out of a failure. @returns the name of those */
  split(name: string, taken: number, state: FailureState): string | undefined {
    const failure = this.#decide(name);
    if (failure?.state !== state || taken < 1 || taken >= failure.contacts.length) return undefined;
    const chunk = this.chunks[Number.parseInt(name, 10)];
    if (chunk === undefined) return undefined;
    const part = `${Number.parseInt(name, 10)}.${(chunk.parts += 1)}`;
    this.failures.set(part, { ...failure, contacts: failure.contacts.slice(0, taken) });
    this.failures.set(name, { ...failure, contacts: failure.contacts.slice(taken) });
    return part;
  }

  /** Takes the first contacts out of a chunk that waits. */
  takeOut(index: number, taken: number): Awaited<ReturnType<Ledger['takeOut']>> {
    const chunk = this.chunks[index];
    if (chunk === undefined || chunk.state === 'none' || chunk.state === 'settled') return 'known';
    if (chunk.holder !== undefined) return 'sending';
    if (this.phase !== 'cancelled' && chunk.state !== 'pending') return 'possibly-sent';
    this.#gone.cancelled += taken;
    chunk.contacts = chunk.contacts.slice(taken);
    if (chunk.contacts.length === 0) this.#end(chunk);
    this.#finishIfDone();
    return 'taken';
  }

  /** Nothing has moved for long. */
  restart(): boolean {
    if (this.counts().pending === 0) return false;
    if (this.phase === 'cancelled') {
      for (const chunk of this.chunks) {
        if (chunk.holder !== undefined) this.#back(chunk, 'pending-possibly-sent');
      }
      this.#finishIfDone();
      return false;
    }
    if (this.phase === 'paused' || this.queued < this.chunks.length) return false;
    this.queued = 0;
    return true;
  }

  /** Up to so many chunks that lack a job get one. */
  queue(limit: number): { first: number; end: number } | undefined {
    if (this.phase !== 'importing' && this.phase !== 'sending') return undefined;
    if (this.queued >= this.chunks.length) return undefined;
    const first = this.queued;
    this.queued = Math.min(this.chunks.length, first + limit);
    return { first, end: this.queued };
  }

  /** The chunks of a window that need a job. */
  unsettled(first: number, end: number): number[] {
    return [...this.chunks.keys()].filter(
      (index) => index >= first && index < end && this.chunks[index]?.state !== 'settled',
    );
  }

  /** Whether workers look at it. */
  get isOpen(): boolean {
    return this.phase !== 'paused' && !this.#over;
  }

  #add(
    contacts: readonly string[],
    root = this.chunks.length,
    state: ChunkState = 'pending',
  ): void {
    this.chunks.push({ state, contacts, holder: undefined, parts: 0, root });
  }

  #back(chunk: ModelChunk, state: ChunkState): void {
    chunk.state = state;
    chunk.holder = undefined;
  }

  #end(chunk: ModelChunk): void {
    this.#back(chunk, 'settled');
    chunk.contacts = [];
  }

  #fail(index: number, state: FailureState, code: string): void {
    const chunk = this.chunks[index];
    if (chunk === undefined) return;
    this.failures.set(`${index}`, { state, code, contacts: chunk.contacts });
    this.#end(chunk);
    this.#finishIfDone();
  }

  #isLeft(name: string): boolean {
    const chunk = this.phase === 'cancelled' ? this.chunks[Number(name)] : undefined;
    return chunk?.state === 'pending-possibly-sent';
  }

  /** The failure with this name; what a cancel left becomes one. */
  #decide(name: string): ModelFailure | undefined {
    if (this.#isLeft(name)) this.#fail(Number(name), 'unknown', 'OUTCOME_UNKNOWN');
    return this.failures.get(name);
  }

  #finishIfDone(): void {
    if (this.#over || !this.#imported || this.counts().pending > 0) return;
    if (this.phase !== 'sending' && this.phase !== 'cancelled') return;
    if (this.phase === 'sending') this.phase = 'finished';
    this.#over = true;
    this.events.finished += 1;
  }
}

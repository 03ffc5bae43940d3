import { randomUUID } from 'node:crypto';
import { hintChannel } from '../../redis/hints.ts';
import { planFields, type BatchPhase, type BatchPlan } from './batch-record.ts';
import { claimChunk, settleChunk, suppressInChunk } from './scripts/chunk-scripts.ts';
import { LedgerReader, type FailureRecord } from './ledger-reader.ts';
import {
  redriveFailure,
  resolveFailure,
  splitFailure,
  takeOutOfChunk,
} from './scripts/action-scripts.ts';
import type { LedgerScript } from './scripts/ledger-prelude.ts';
import { controlBatch, endImport, startBatch, storeChunk } from './scripts/ledger-scripts.ts';
import {
  chunksWithoutJob,
  putBackBatch,
  restartStalled,
  takeOpenBatch,
} from './scripts/open-batch-scripts.ts';
import type { Claim, SentClaim, Settlement } from './settlement.ts';

/** Why a failure was not sent again: the phase of its batch, or `late` past its deadline. */
export type RedriveRefusal = Exclude<BatchPhase, 'sending' | 'finished'> | 'late';

type Args = readonly (string | number | Buffer)[];

type Taken = Readonly<{ size: number; rows?: string; rest: Buffer | undefined }>;

/** A chunk as the import stores it. */
export interface StoredChunk {
  readonly chunk: number;
  readonly size: number;
  /** Rows of the list up to the end of the chunk. */
  readonly rows: number;
  /** Its contacts; see chunk-payload.ts. */
  readonly payload: Buffer;
  /** Digest of the list up to the end of the chunk. */
  readonly digest?: string | undefined;
  /** Digest of the list up to its start. */
  readonly before?: string | undefined;
  /** Fingerprints for the search index, and for how long it keeps them. */
  readonly find?: { readonly prints: Buffer; readonly keepMs: number } | undefined;
}

/** What a claim answers as JSON. */
type Claimed = Omit<SentClaim, 'kind' | 'frame' | 'payload' | 'traceIds'> & {
  readonly traces?: string;
};

/** Chunks of a batch that need a job. */
export interface ChunksWithoutJob {
  /** The first so many chunks are of the list; the others are parts of these, or sent again. */
  readonly ofList: number;
  /** The chunks from `first` up to, not including, `end` were examined. */
  readonly first: number;
  readonly end: number;
  /** Redis time, milliseconds since the epoch. */
  readonly now: number;
  /** With a rate: end of the last turn that is given here, Redis time. */
  readonly turnsTo: number;
  /** Those that need one, and when it is due in Redis time. */
  readonly chunks: readonly { readonly chunk: number; readonly dueAt: number }[];
}

/**
 * The account's batches: the record of what was sent and what was not, which stays right whatever happens to jobs and
 * processes. Each method that changes a batch runs one Lua script, so that counters and states always agree.
 */
export class Ledger extends LedgerReader {
  /**
   * Creates a batch.
   *
   * @param fingerprint identity of the list
   * @param retentionMs how long the batch is kept after its end
   * @param found ids of the batches of this list that {@link batchesOfList} found before; undefined for a batch that no
   *   repeated list must find
   * @returns `started`; `known` if the batch exists, `different` if it does with another fingerprint;
   *   `changed` if there is another batch of the list meanwhile
   */
  async start(
    id: string,
    plan: BatchPlan,
    fingerprint: string,
    retentionMs: number,
    found?: readonly string[],
  ) {
    const args = [id, fingerprint, retentionMs, found === undefined ? '' : JSON.stringify(found)];
    const keys = [this.keys.list(fingerprint), this.keys.batchFind(id)];
    const [result] = await this.#run(startBatch, id, [...args, ...planFields(plan)], keys);
    return result;
  }

  /**
   * @returns `known` if it is stored already, `other` if the stored chunks are of another list, `gone` if the batch was
   *   cancelled, its import has ended, or there is none
   */
  async store(
    id: string,
    { chunk, size, rows, payload, digest = '', before = '', find }: StoredChunk,
  ) {
    const { prints = '', keepMs = 0 } = find ?? {};
    const args = [chunk, size, rows, payload, prints, keepMs, digest, before];
    const [result] = await this.#run(storeChunk, id, args, [this.keys.batchFind(id)]);
    return result;
  }

  /** Shows for the next `forMs` milliseconds that the batch is being imported. */
  async holdImport(id: string, forMs: number): Promise<void> {
    await this.ask(() => this.redis.set(this.keys.batchImport(id), '1', 'PX', forMs));
  }

  /** Shows that the batch is no longer being imported. */
  async releaseImport(id: string): Promise<void> {
    await this.ask(() => this.redis.del(this.keys.batchImport(id)));
  }

  /**
   * Marks the import as finished; the batch finishes once nothing is pending.
   *
   * @param stored number of the chunks of the list, the digest up to the end of the last, the number of their
   *   contacts, which is another one where duplicates are not left out as before, and the digest of the whole list; by
   *   default they are not compared
   * @param rows numbers of the rows that became no contacts
   * @returns `gone` if the batch or some of its chunks are missing, `other` if its chunks are not those of the list
   */
  async endImport(
    id: string,
    refusedRows: number,
    duplicateRows: number,
    stored?: Readonly<{ chunks: number; digest: string; contacts: number; whole: string }>,
    rows: { readonly refused?: string; readonly duplicate?: string } = {},
  ) {
    const { chunks = '', digest = '', contacts = 0, whole = '' } = stored ?? {};
    const { refused = '', duplicate = '' } = rows;
    const args = [refusedRows, duplicateRows, chunks, digest, contacts, whole, refused, duplicate];
    const [result] = await this.#run(endImport, id, args);
    return result;
  }

  /**
   * Claims a chunk before it is sent.
   *
   * @param nonce identifies the attempt
   * @param lock of the job, and the worker's token for it
   * @param mostSent a chunk that was possibly sent more often becomes unknown. Default: no limit
   */
  async claim(
    id: string,
    chunk: number,
    nonce: string,
    lock: { readonly key: string; readonly token: string },
    mostSent = Number.MAX_SAFE_INTEGER,
  ): Promise<Claim> {
    const args = [chunk, nonce, lock.token, mostSent];
    const [result, text = '{}', frame, payload] = await this.#run(claimChunk, id, args, [lock.key]);
    const { traces, ...said } = JSON.parse(String(text)) as Claimed;
    if (String(result) !== 'send') return { kind: String(result), ...said } as Claim;
    const traceIds = traces?.split(' ').filter((one) => one !== '') ?? [];
    const bytes = payload as Buffer;
    return { ...said, kind: 'send', frame: String(frame), payload: bytes, traceIds };
  }

  /**
   * Records the result of an attempt. Safe to repeat: it counts once.
   *
   * @param traceIds of the service, for the attempts that may have been accepted, where contacts are sent again
   * @returns `known` if it changed nothing: the chunk is settled, or another attempt has claimed it
   */
  async settle(
    id: string,
    chunk: number,
    nonce: string,
    settlement: Settlement,
    traceIds: readonly string[] = [],
  ) {
    return this.#settle(id, chunk, nonce, { ...settlement, traceIds: traceIds.join(' ') });
  }

  /**
   * Replaces a refused chunk by two of its contacts, once.
   *
   * @param first size of the first half
   * @returns `known` if another attempt has claimed the chunk, or it is settled
   */
  async halve(
    id: string,
    chunk: number,
    nonce: string,
    first: number,
    payloads: readonly [Buffer, Buffer],
    traceIds: readonly string[] = [],
  ) {
    const said = { kind: 'halved', first, traceIds: traceIds.join(' ') };
    if ((await this.#settle(id, chunk, nonce, said, payloads)) === 'known') return 'known';
    await this.#publishHint(id);
    return 'halved';
  }

  /**
   * Takes contacts that nothing may be sent to out of a claimed chunk; they end as suppressed.
   *
   * @param size contacts of the chunk, as it was claimed
   * @returns `known` if another attempt has claimed it
   */
  async suppress(
    id: string,
    chunk: number,
    nonce: string,
    size: number,
    taken: Taken,
    traceId = '',
  ) {
    const args = [chunk, nonce, size, taken.size, taken.rest ?? '', taken.rows ?? '', traceId];
    const [result] = await this.#run(suppressInChunk, id, args);
    return result;
  }

  async #settle(
    id: string,
    chunk: number,
    nonce: string,
    said: object,
    payloads: readonly Buffer[] = [],
  ) {
    const args = [chunk, nonce, JSON.stringify(said), ...payloads];
    const [result] = await this.#run(settleChunk, id, args);
    return result;
  }

  /**
   * In constant time; takes effect at the next claim.
   *
   * @param rate of the verb `rate`: contacts per second; 0 for no limit
   * @returns `done: false` if the phase does not allow it; undefined if there is no such batch
   */
  async control(id: string, verb: 'pause' | 'resume' | 'cancel' | 'rate', rate = 0) {
    const [result, phase] = await this.#run(controlBatch, id, [verb, rate]);
    if (result === 'gone') return undefined;
    const done = result === 'done';
    if (done && (verb === 'resume' || verb === 'rate')) await this.#publishHint(id);
    return { done, phase: String(phase) as BatchPhase };
  }

  /**
   * Undefined if there are none, or none that may get one now.
   *
   * @param limit chunks to examine at most
   * @param aheadMs how far ahead a batch with a rate gets jobs
   * @param before those that it found before, which have jobs now
   */
  async chunksWithoutJob(
    id: string,
    limit: number,
    aheadMs: number,
    before?: ChunksWithoutJob,
  ): Promise<ChunksWithoutJob | undefined> {
    const queued = before === undefined ? [] : [before.first, before.end, before.turnsTo];
    const answer = await this.#run(chunksWithoutJob, id, [limit, aheadMs, ...queued]);
    if (answer[0] !== 'chunks') return undefined;
    const [first = 0, end = 0, now = 0, turnsTo = 0, ofList = 0, ...found] = answer
      .slice(1)
      .map(Number);
    const chunks: { chunk: number; dueAt: number }[] = [];
    for (let at = 0; at + 1 < found.length; at += 2) {
      chunks.push({ chunk: found[at] ?? 0, dueAt: found[at + 1] ?? 0 });
    }
    return { first, end, now, turnsTo, ofList, chunks };
  }

  /** Takes one batch that is due for a look: being imported or sent, or cancelled with attempts under way. */
  async takeOpen(leaseMs: number) {
    const keys = [this.keys.openBatches];
    const [id, leaseEnds] = await this.ask(() => takeOpenBatch(this.redis, keys, [leaseMs]));
    return id === undefined || leaseEnds === undefined ? undefined : { id, leaseEnds };
  }

  /** Ends the look at a batch that {@link takeOpen} returned; the next one is due after `afterMs`. */
  async putBack(id: string, leaseEnds: number, afterMs: number): Promise<void> {
    await this.#run(putBackBatch, id, [leaseEnds, afterMs, id]);
  }

  /**
   * Restarts a batch whose jobs were lost, so that its chunks get jobs again. A cancelled one is finished: attempts
   * without an answer for that long become unknown.
   *
   * @param afterMs how long nothing may have changed (restartAfterMs)
   * @param held while the queue is held, only a cancelled batch is finished
   * @returns whether it was restarted; not if its jobs are there
   */
  async restartStalled(id: string, afterMs: number, held = false): Promise<boolean> {
    const [found] = await this.#run(restartStalled, id, [afterMs, 'look']);
    if (found !== 'stalled' || held) return false;
    const batch = await this.read(id);
    if (batch === undefined || (await this.hasItsJobs(batch))) return false;
    const [result] = await this.#run(restartStalled, id, [afterMs, 'restart']);
    return result === 'stalled';
  }

  /**
   * Sends a failure again: its contacts become a new chunk.
   *
   * @param state the state the failure must have, so that unknown ones are never resent by mistake
   * @param code the code it must have; any if empty
   * @param duringImport also while the list is imported or paused. Default: that is refused
   * @returns `known` if it no longer exists or does not match, `gone` if its batch does not; a refusal changes nothing
   */
  async redrive(
    id: string,
    name: string,
    state: FailureRecord['state'],
    code = '',
    duringImport = false,
  ) {
    const args = [name, state, code, duringImport ? 1 : 0];
    const [result, why] = await this.#once(redriveFailure, id, args);
    if (result === 'redriven') await this.#publishHint(id);
    return result === 'refused' ? (why as RedriveRefusal) : result;
  }

  /**
   * Moves a failure to the state that a person decided on, and deletes its contacts.
   *
   * @param state the state it must have
   * @returns false if it no longer exists or has another state
   */
  async resolve(
    id: string,
    name: string,
    as: 'accepted' | 'cancelled',
    state: FailureRecord['state'] = 'unknown',
    rows = '',
  ): Promise<boolean> {
    const [result] = await this.#once(resolveFailure, id, [name, as, state, rows]);
    return result === 'resolved';
  }

  /**
   * Takes contacts out of a failure; they become a failure of their own.
   *
   * @param size contacts of the failure, as it was read
   * @returns its name; undefined if the failure has changed since
   */
  async splitFailure(
    id: string,
    name: string,
    size: number,
    taken: { readonly size: number; readonly payload: Buffer; readonly rest: Buffer },
    state: FailureRecord['state'] = 'unknown',
  ): Promise<string | undefined> {
    const args = [name, state, size, taken.size, taken.payload, taken.rest];
    const [result, part] = await this.#once(splitFailure, id, args);
    return result === 'split' ? String(part) : undefined;
  }

  /**
   * Takes contacts out of a chunk that waits and was not sent: they count as cancelled.
   *
   * @param size contacts of the chunk, as it was read
   * @returns `sending` if an attempt has the chunk; `possibly-sent` if it will be tried again after one; `known` if it
   *   has changed since or does not wait
   */
  async takeOut(id: string, chunk: number, size: number, taken: Taken) {
    const args = [chunk, size, taken.size, taken.rest ?? '', taken.rows ?? ''];
    const [result] = await this.#once(takeOutOfChunk, id, args);
    return result;
  }

  /** Runs a script that is done once, also where the connection is reopened and repeats the command. */
  #once<Result>(script: LedgerScript<Result>, id: string, args: Args) {
    return this.#run(script, id, args, [this.keys.done(randomUUID())]);
  }

  /** Runs a ledger script; its answer is a list whose first element names the result. */
  async #run<Result>(
    script: LedgerScript<Result>,
    id: string,
    args: Args,
    moreKeys: readonly string[] = [],
  ) {
    const { record, chunks, payload, sizes, inflight, failures, groups } = this.keys.batch(id);
    const { counts, events, batches, openBatches, unknownContacts } = this.keys;
    const ofBatch = [record, chunks, payload, sizes, inflight, failures, groups];
    const ofAccount = [counts, events, batches, openBatches];
    const keys = [...ofBatch, ...ofAccount, ...moreKeys, unknownContacts];
    return this.ask(() => script(this.redis, keys, args));
  }

  /**
   * Notifies the workers that chunks may have no job. Without it they look a moment later: what was done stays done.
   */
  async #publishHint(id: string): Promise<void> {
    const channel = hintChannel(this.redis, this.keys.batchHints);
    await this.redis.publish(channel, id).catch(() => 0);
  }
}

import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import type { Script } from '../../redis/script.ts';
import {
  batchFrom,
  planFields,
  type Batch,
  type BatchPhase,
  type BatchPlan,
} from './batch-record.ts';
import { stateOf, type ChunkState } from './chunk-state.ts';
import type { Claim } from './claim.ts';
import {
  claimChunk,
  redriveFailure,
  resolveFailure,
  settleChunk,
  storeChunk,
} from './chunk-scripts.ts';
import {
  beginBatch,
  endImport,
  markQueued,
  restartStalled,
  controlBatchScript,
  unqueuedChunks,
} from './ledger-scripts.ts';
import type { Settlement } from './settlement.ts';

/** Contacts of a batch that were not accepted: a whole chunk, or a part of one. */
export interface FailureRecord {
  /** The chunk's number or, for a part of it, `number.part`. */
  readonly name: string;
  readonly state: 'rejected' | 'unknown' | 'expired';
  /** In contacts. */
  readonly size: number;
  readonly code: string;
  readonly message: string;
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * The account's batches, as Redis keeps them: what is true of them, whatever happens to jobs and
 * processes. Its moves are the scripts of ledger-scripts.ts; this class gives them types.
 *
 * All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis fails.
 */
export class Ledger {
  readonly #redis: RedisClient;
  readonly #keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Begins a batch, or goes on with it.
   *
   * @param fingerprint of the plan and the source: who goes on must bring the same
   * @param retentionMs how long all of it is kept after its end
   */
  async begin(
    id: string,
    plan: BatchPlan,
    fingerprint: string,
    retentionMs: number,
  ): Promise<'begun' | 'known' | 'different'> {
    const args = [id, fingerprint, retentionMs, ...planFields(plan)];
    const [word] = await this.#run(beginBatch, id, args);
    return word as 'begun' | 'known' | 'different';
  }

  /**
   * @param rows rows of the source up to the chunk's end
   * @param find the chunk's prints for the find index, and how long they are kept
   */
  async store(
    id: string,
    chunk: number,
    size: number,
    rows: number,
    payload: Buffer,
    find?: { readonly prints: Buffer; readonly keepMs: number },
  ): Promise<'stored' | 'known' | 'gone'> {
    const { prints = '', keepMs = 0 } = find ?? {};
    const args = [chunk, size, rows, payload, prints, keepMs];
    const [word] = await this.#run(storeChunk, id, args, [this.#keys.batchFind(id)]);
    return word as 'stored' | 'known' | 'gone';
  }

  async endImport(id: string, refusedRows: number, duplicateRows: number): Promise<void> {
    await this.#run(endImport, id, [refusedRows, duplicateRows]);
  }

  /**
   * @param nonce names the attempt
   * @param lock key of the job's lock, and the worker's token for it
   */
  async claim(
    id: string,
    chunk: number,
    nonce: string,
    lock: { readonly key: string; readonly token: string },
  ): Promise<Claim> {
    const keys = [...this.#scriptKeys(id), lock.key];
    const args = [chunk, nonce, lock.token];
    const reply = await this.#ask(() => claimChunk(this.#redis, keys, args));
    const [word, ...rest] = reply as [Buffer, ...unknown[]];
    const kind = word.toString();
    if (kind === 'send') {
      const [frame, payload, size, maybe, delivery, bisect] = rest;
      return {
        kind,
        frame: String(frame),
        payload: payload as Buffer,
        size: Number(size),
        maybe: maybe === 1,
        delivery: String(delivery) === 'at-most-once' ? 'at-most-once' : 'at-least-once',
        bisect: String(bisect) === '1',
      };
    }
    if (kind === 'later') return { kind, afterMs: Number(rest[0]) };
    return { kind } as Claim;
  }

  /**
   * Safe to repeat: it counts once.
   *
   * @returns `known` when it changed nothing: the chunk is settled, or another attempt has it
   * @throws RangeError when the parts do not add up to the chunk, or a part of it names no payload;
   *   nothing was settled, and the caller is wrong
   */
  async settle(
    id: string,
    chunk: number,
    nonce: string,
    settlement: Settlement,
  ): Promise<'settled' | 'known'> {
    const { accepted, rest, failed } = settlement;
    const [word, size] = await this.#run(settleChunk, id, [
      chunk,
      nonce,
      accepted,
      rest?.size ?? 0,
      rest?.payload ?? '',
      rest?.doubt === true ? 1 : 0,
      ...failed.flatMap((part) => [
        part.state,
        part.size,
        part.code,
        part.message,
        part.payload ?? '',
      ]),
    ]);
    if (word === 'unfit') {
      throw new RangeError(
        `the settlement does not fit chunk ${chunk} of ${Number(size)} contacts`,
      );
    }
    return word as 'settled' | 'known';
  }

  /**
   * Pauses, resumes or cancels, in constant time, from the next claim on.
   *
   * @returns `refused` where the phase does not allow it, undefined where there is no such batch
   */
  async steer(
    id: string,
    verb: 'pause' | 'resume' | 'cancel',
  ): Promise<{ readonly done: boolean; readonly phase: BatchPhase } | undefined> {
    const [word, phase] = await this.#run(controlBatchScript, id, [verb]);
    if (word === 'gone') return undefined;
    if (word === 'done' && verb === 'resume') await this.#hint(id);
    return { done: word === 'done', phase: String(phase) as BatchPhase };
  }

  /**
   * Makes a new chunk of what failed.
   *
   * @param state the state the failure must have; a caller that means unknown ones must say so
   * @param code the code it must have; any when left out
   * @returns whether it was redriven; false when it is no longer there or does not match
   */
  async redrive(
    id: string,
    name: string,
    state: FailureRecord['state'],
    code = '',
  ): Promise<boolean> {
    const find = this.#keys.batchFind(id);
    const [word] = await this.#run(redriveFailure, id, [name, state, code], [find]);
    if (word !== 'redriven') return false;
    await this.#hint(id);
    return true;
  }

  /**
   * Counts an unknown failure as what a person says of it, and forgets its contacts.
   *
   * @returns false when it is no longer there, or is not unknown
   */
  async resolve(id: string, name: string, as: 'accepted' | 'cancelled'): Promise<boolean> {
    const find = this.#keys.batchFind(id);
    const [word] = await this.#run(resolveFailure, id, [name, as], [find]);
    return word === 'resolved';
  }

  async read(id: string): Promise<Batch | undefined> {
    const { record } = this.#keys.batch(id);
    return batchFrom(id, await this.#ask(() => this.#redis.hgetall(record)));
  }

  /** The batches that are kept, the newest first; forgets those whose retention has ended. */
  async list(limit: number, offset = 0): Promise<Batch[]> {
    const ids = await this.#ask(() =>
      this.#redis.zrevrangebyscore(this.#keys.batches, '+inf', '-inf', 'LIMIT', offset, limit),
    );
    const batches = await Promise.all(ids.map((id) => this.read(id)));
    const gone = ids.filter((_, index) => batches[index] === undefined);
    if (gone.length > 0) {
      await this.#ask(() => this.#redis.zrem(this.#keys.batches, ...gone));
      return this.list(limit, offset);
    }
    return batches.filter((batch) => batch !== undefined);
  }

  /** How many batches are kept, or a few more: those whose retention has just ended. */
  async countBatches(): Promise<number> {
    return this.#ask(() => this.#redis.zcard(this.#keys.batches));
  }

  /** States of the chunks from `first` up to `end`. */
  async states(id: string, first: number, end: number): Promise<ChunkState[]> {
    if (end <= first) return [];
    const { chunks } = this.#keys.batch(id);
    const bytes = await this.#ask(() =>
      this.#redis.getrangeBuffer(chunks, first >> 1, (end - 1) >> 1),
    );
    return Array.from({ length: end - first }, (_, index) => {
      const chunk = first + index;
      const byte = bytes[(chunk >> 1) - (first >> 1)] ?? 0;
      return stateOf(chunk % 2 === 0 ? byte >> 4 : byte & 15);
    });
  }

  /**
   * What failed, page by page; the order is Redis' own. What fails or is redriven meanwhile may be
   * left out, and a name may come twice. Contacts of a cancelled batch that came back are not among
   * it: {@link states} tells their chunks.
   */
  async *failures(id: string): AsyncGenerator<FailureRecord> {
    const { failures } = this.#keys.batch(id);
    let cursor = '0';
    do {
      const from = cursor;
      const [next, fields] = await this.#ask(() => this.#redis.hscan(failures, from, 'COUNT', 200));
      for (let index = 0; index < fields.length; index += 2) {
        const kept = JSON.parse(fields[index + 1] ?? '{}') as Omit<FailureRecord, 'name'>;
        yield { name: fields[index] ?? '', ...kept };
      }
      cursor = next;
    } while (cursor !== '0');
  }

  /** The stored contacts of a chunk or of a failure; undefined once they are gone. */
  async payload(id: string, name: string): Promise<Buffer | undefined> {
    const { payload } = this.#keys.batch(id);
    return (await this.#ask(() => this.#redis.hgetBuffer(payload, name))) ?? undefined;
  }

  /** Contacts of all batches that wait in Redis. */
  async unsent(): Promise<number> {
    return Number((await this.#ask(() => this.#redis.get(this.#keys.unsent))) ?? 0);
  }

  /** Chunks that have no job yet, `limit` at most. */
  async unqueued(
    id: string,
    limit: number,
  ): Promise<{ readonly first: number; readonly end: number } | undefined> {
    const [word, first, end] = await this.#run(unqueuedChunks, id, [limit]);
    return word === 'chunks' ? { first: Number(first), end: Number(end) } : undefined;
  }

  /** Chunks from `first` up to `end` have jobs now. */
  async markQueued(id: string, first: number, end: number): Promise<void> {
    await this.#run(markQueued, id, [first, end]);
  }

  /**
   * Mends a batch whose jobs were lost. A cancelled one gets none, but is ended: attempts of which
   * nothing was heard for so long are unknown. Call it for every batch that is not finished, and not
   * while the queue is held.
   *
   * @param afterMs how long nothing may have moved; longer than an attempt can last
   * @returns true when nothing had moved for so long, and all its chunks are to get jobs anew
   */
  async restartStalled(id: string, afterMs: number): Promise<boolean> {
    const [word] = await this.#run(restartStalled, id, [afterMs]);
    return word === 'stalled';
  }

  #scriptKeys(id: string): string[] {
    const { record, chunks, payload, sizes, inflight, failures } = this.#keys.batch(id);
    const { unsent, batchEvents, batches } = this.#keys;
    return [record, chunks, payload, sizes, inflight, failures, unsent, batchEvents, batches];
  }

  async #run(
    script: Script<unknown>,
    id: string,
    args: readonly (string | number | Buffer)[],
    moreKeys: readonly string[] = [],
  ): Promise<readonly unknown[]> {
    const keys = [...this.#scriptKeys(id), ...moreKeys];
    const reply = await this.#ask(() => script(this.#redis, keys, args));
    return reply as readonly unknown[];
  }

  /** Tells the workers that chunks may lack jobs. */
  async #hint(id: string): Promise<void> {
    await this.#ask(() => this.#redis.publish(this.#keys.batchHints, id));
  }

  async #ask<Reply>(command: () => Promise<Reply>): Promise<Reply> {
    try {
      return await command();
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

import * as z from 'zod';
import { chunkJobId } from '../../contracts/job.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { storedJson } from '../../redis/stored-json.ts';
import { batchFrom, type Batch, type ImportRecord } from './batch-record.ts';
import { stateOf, type ChunkState } from './settlement.ts';

const failure = z.object({
  state: z.enum(['rejected', 'unknown', 'expired']),
  size: z.number(),
  /** The service's code, or one of ours. */
  code: z.string(),
  /** The service's message, with phone numbers masked; empty if there was none. */
  message: z.string(),
  /** Redis time, milliseconds since the epoch. */
  at: z.number(),
});

/** Contacts of a batch that were not accepted, all for the same reason: a chunk or part of one. */
export interface FailureRecord extends Readonly<z.output<typeof failure>> {
  /** `<chunk>` or, for part of a chunk, `<chunk>.<part>`. */
  readonly name: string;
}

/** A failure as it is stored. What cannot be read says nothing of its contacts: what became of them is unknown. */
const failureFrom = (name: string, text: string): FailureRecord => ({
  name,
  ...(storedJson(failure, text) ?? UNREADABLE),
});
export const UNREADABLE = {
  state: 'unknown',
  size: 0,
  code: 'RECORD_UNREADABLE',
  message: 'what is stored of it cannot be read',
  at: 0,
} as const;

const failureSum = failure
  .pick({ state: true, code: true, message: true })
  .extend({ contacts: z.number() });

/** Redis is busy for about a millisecond per read, and a page that shows the reasons of failures needs few. */
const FAILURES_PER_READ = 1_000;

/** Chunks whose fields are read at a time. */
const NAMES_PER_READ = 1_000;

/** Batches that {@link LedgerReader.all} holds in memory at a time. */
const BATCHES_PER_READ = 100;

/** Chunks whose states are read at a time. */
const STATES_PER_READ = 4_096;

/** The jobs of so many chunks are looked up at most. */
const MOST_WAITING = 100;

/** A job that has been due for less than this is about to be taken, in milliseconds. */
const TAKEN_WITHIN_MS = 10_000;

/** When batches were created, Redis time in milliseconds since the epoch; without a bound all match. */
export interface BatchTimes {
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

/** A range of scores, the highest first. */
const scoresOf = ({ since, before }: BatchTimes) =>
  [before === undefined ? '+inf' : `(${before}`, since ?? '-inf'] as const;

/**
 * Reads the account's batches. All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis fails.
 */
export class LedgerReader {
  protected readonly redis: RedisClient;
  protected readonly keys: Keys;

  constructor(redis: RedisClient, keys: Keys) {
    this.redis = redis;
    this.keys = keys;
  }

  async read(id: string): Promise<Batch | undefined> {
    return (await this.importRecord(id))?.batch;
  }

  /** Ids of the batches of a list, by its identity, also of some whose retention has ended. */
  async batchesOfList(identity: string): Promise<string[]> {
    return this.ask(() => this.redis.zrange(this.keys.list(identity), '0', '-1'));
  }

  /** One batch with what an import compares; undefined if there is none with this id. */
  async importRecord(id: string): Promise<ImportRecord | undefined> {
    const { record, chunks } = this.keys.batch(id);
    const reads = () => Promise.all([this.redis.hgetall(record), this.redis.strlen(chunks)]);
    const [fields, bytes] = await this.ask(reads);
    // Two chunks in each byte.
    const batch = batchFrom(id, fields, 2 * bytes);
    const { fingerprint = '', digest = '' } = fields;
    return batch && { batch, fingerprint, digest };
  }

  async isImporting(id: string): Promise<boolean> {
    return (await this.ask(() => this.redis.exists(this.keys.batchImport(id)))) === 1;
  }

  /** Stored batches, the newest first. Removes those whose retention has ended from the list. */
  async list(limit: number, offset = 0, times: BatchTimes = {}): Promise<Batch[]> {
    const [newest, oldest] = scoresOf(times);
    const ids = await this.ask(() =>
      this.redis.zrevrangebyscore(this.keys.batches, newest, oldest, 'LIMIT', offset, limit),
    );
    const batches: Batch[] = [];
    for await (const batch of this.#readAll(ids)) batches.push(batch);
    return batches.length < ids.length ? this.list(limit, offset, times) : batches;
  }

  /**
   * All stored batches, the newest first, some at a time: each that exists throughout is returned once, whatever is
   * added or deleted meanwhile. Removes those whose retention has ended from the list.
   */
  async *all(times: BatchTimes = {}): AsyncGenerator<Batch> {
    const [newest, oldest] = scoresOf(times);
    yield* this.#readAll(
      await this.ask(() => this.redis.zrevrangebyscore(this.keys.batches, newest, oldest)),
    );
  }

  async *#readAll(ids: readonly string[]): AsyncGenerator<Batch> {
    for (let from = 0; from < ids.length; from += BATCHES_PER_READ) {
      const some = ids.slice(from, from + BATCHES_PER_READ);
      const batches = await Promise.all(some.map((id) => this.read(id)));
      const gone = some.filter((_, index) => batches[index] === undefined);
      if (gone.length > 0) await this.ask(() => this.redis.zrem(this.keys.batches, ...gone));
      yield* batches.filter((batch) => batch !== undefined);
    }
  }

  /** How many unknown contacts each stored batch has that has any. Forgets those whose retention has ended. */
  async unknownByBatch(): Promise<ReadonlyMap<string, number>> {
    const key = this.keys.unknownContacts;
    return this.ask(async () => {
      const found = await this.redis.zrange(key, '0', '-1', 'WITHSCORES');
      const ids = found.filter((_, index) => index % 2 === 0);
      const records = ids.map((id) => this.redis.exists(this.keys.batch(id).record));
      const isThere = await Promise.all(records);
      const gone = ids.filter((_, index) => isThere[index] === 0);
      // Only a copy of what is known: it may fail while Redis refuses writes.
      if (gone.length > 0) await this.redis.zrem(key, ...gone).catch(() => 0);
      const kept = ids.map((id, index) => [id, Number(found[index * 2 + 1])] as const);
      return new Map(kept.filter((_, index) => isThere[index] === 1));
    });
  }

  /** Unknown contacts of all stored batches. */
  async unknownContacts(): Promise<number> {
    return [...(await this.unknownByBatch()).values()].reduce((sum, one) => sum + one, 0);
  }

  /** The stored batches with unknown contacts, the newest first; reads no others. */
  async *withUnknown(): AsyncGenerator<Batch> {
    const ids = [...(await this.unknownByBatch()).keys()];
    if (ids.length === 0) return;
    const times = await this.ask(() => this.redis.zmscore(this.keys.batches, ...ids));
    const startedAt = new Map(ids.map((id, index) => [id, Number(times[index] ?? 0)]));
    ids.sort((a, b) => (startedAt.get(b) ?? 0) - (startedAt.get(a) ?? 0));
    for await (const batch of this.#readAll(ids)) if (batch.counts.unknown > 0) yield batch;
  }

  /** Number of stored batches; may include a few whose retention has just ended. */
  async countBatches(times: BatchTimes = {}): Promise<number> {
    const [newest, oldest] = scoresOf(times);
    return this.ask(() => this.redis.zcount(this.keys.batches, oldest, newest));
  }

  /** The chunks below `end` that are stored and not settled, in order. */
  async *unsettled(id: string, end: number) {
    for (let first = 0; first < end; first += STATES_PER_READ) {
      const states = await this.states(id, first, Math.min(end, first + STATES_PER_READ));
      for (const [index, state] of states.entries()) {
        if (state !== 'none' && state !== 'settled') yield { chunk: first + index, state };
      }
    }
  }

  /** States of the chunks from `first` up to, not including, `end`. */
  async states(id: string, first: number, end: number): Promise<ChunkState[]> {
    if (end <= first) return [];
    const key = this.keys.batch(id).chunks;
    // Two chunks in each byte.
    const bytes = await this.ask(() => this.redis.getrangeBuffer(key, first >> 1, (end - 1) >> 1));
    return Array.from({ length: end - first }, (_, index) => {
      const chunk = first + index;
      const byte = bytes[(chunk >> 1) - (first >> 1)] ?? 0;
      return stateOf(chunk % 2 === 0 ? byte >> 4 : byte & 15);
    });
  }

  /**
   * Failures of a batch, each once, in no particular order. One that is added or redriven meanwhile may be missing.
   * What a cancel left is none: {@link unsettled} finds it.
   */
  async *failures(id: string): AsyncGenerator<FailureRecord> {
    for await (const [name, stored] of this.#fields(this.keys.batch(id).failures, '*')) {
      yield failureFrom(name, stored);
    }
  }

  /** What became of rows whose contacts are deleted, as the scripts note it (row-results.ts reads it). */
  async *ends(id: string): AsyncGenerator<string> {
    for await (const [, lines] of this.#fields(this.keys.batch(id).sizes, '*.ends')) {
      yield* lines.split('\n');
    }
  }

  /** Fields of a hash, each once: Redis may return one twice while others are added or removed. */
  async *#fields(key: string, match: string): AsyncGenerator<[name: string, value: string]> {
    const seen = new Set<string>();
    let cursor = '0';
    do {
      const from = cursor;
      const [next, fields] = await this.ask(() =>
        this.redis.hscan(key, from, 'MATCH', match, 'COUNT', FAILURES_PER_READ),
      );
      for (let index = 0; index < fields.length; index += 2) {
        const name = fields[index] ?? '';
        if (seen.has(name)) continue;
        seen.add(name);
        yield [name, fields[index + 1] ?? '{}'];
      }
      cursor = next;
    } while (cursor !== '0');
  }

  async failure(id: string, name: string): Promise<FailureRecord | undefined> {
    const { failures } = this.keys.batch(id);
    const stored = await this.ask(() => this.redis.hget(failures, name));
    return stored === null ? undefined : failureFrom(name, stored);
  }

  async sizeOf({ id, chunkSize }: Pick<Batch, 'id' | 'chunkSize'>, chunk: string): Promise<number> {
    const { sizes } = this.keys.batch(id);
    return Number((await this.ask(() => this.redis.hget(sizes, chunk))) ?? chunkSize);
  }

  /** Names of the chunks and failures whose contacts are stored. */
  async payloadNames(id: string): Promise<string[]> {
    const { payload } = this.keys.batch(id);
    return this.ask(() => this.redis.hkeys(payload));
  }

  /** Those of them that have contacts of a chunk of the list, also where these were cut from it or sent again. */
  async payloadNamesOf(id: string, chunk: number): Promise<string[]> {
    const { sizes } = this.keys.batch(id);
    const names = await this.payloadNames(id);
    const found: string[] = [];
    for (let from = 0; from < names.length; from += NAMES_PER_READ) {
      const some = names.slice(from, from + NAMES_PER_READ);
      const fields = some.map((name) => `${Number.parseInt(name, 10)}.root`);
      const roots = await this.ask(() => this.redis.hmget(sizes, ...fields));
      found.push(
        ...some.filter(
          (name, index) => Number(roots[index] ?? Number.parseInt(name, 10)) === chunk,
        ),
      );
    }
    return found;
  }

  /** Failures by state and code, in one round trip. A sum that cannot be read is of 0 contacts: the counts have them. */
  async failureSums(id: string) {
    const sums = await this.ask(() => this.redis.hgetall(this.keys.batch(id).groups));
    return Object.entries(sums).map(([name, text]) => {
      const state = failure.shape.state.safeParse(name.split(' ', 1)[0]).data ?? 'unknown';
      return storedJson(failureSum, text) ?? { ...UNREADABLE, state, contacts: 0 };
    });
  }

  /**
   * When the next of a batch's delayed jobs is due, if all that is left of the batch waits for its next attempt.
   * Undefined where a chunk that is not settled has no delayed job, or was due for longer than {@link TAKEN_WITHIN_MS}.
   */
  async nextAttempt({ id, chunks }: Pick<Batch, 'id' | 'chunks'>): Promise<number | undefined> {
    const jobs = await this.#jobsOfUnsettled(id, chunks);
    if (jobs.length === 0) return undefined;
    const scores = await this.ask(() => this.redis.zmscore(this.keys.delayedChunks, ...jobs));
    // BullMQ keeps the time of a delayed job in the upper bits of its score.
    const dueAt = scores.map((score) => Number(score ?? 0) / 0x1000);
    const first = Math.floor(Math.min(...dueAt));
    return first > Date.now() - TAKEN_WITHIN_MS ? first : undefined;
  }

  /**
   * Whether the chunks that have got jobs and are not settled still have them: then nothing is lost, and what is left
   * of the batch waits. A job that has failed for good counts as lost; false where there are none.
   */
  async hasItsJobs({ id, queued }: Pick<Batch, 'id' | 'queued'>): Promise<boolean> {
    const jobs = await this.#jobsOfUnsettled(id, queued);
    if (jobs.length === 0) return false;
    const { keys } = this;
    const [found, failedAt] = await this.ask(() =>
      Promise.all([
        this.redis.exists(...jobs.map((job) => keys.chunkJob(job))),
        this.redis.zmscore(keys.failedChunks, ...jobs),
      ]),
    );
    return found === jobs.length && failedAt.every((at) => at === null);
  }

  /** Ids of the jobs of the chunks below `end` that are not settled: the first {@link MOST_WAITING}. */
  async #jobsOfUnsettled(id: string, end: number): Promise<string[]> {
    const left: string[] = [];
    for await (const { chunk } of this.unsettled(id, end)) {
      left.push(chunkJobId({ batch: id, chunk }));
      if (left.length === MOST_WAITING) break;
    }
    return left;
  }

  /** The stored contacts of a chunk or failure (see chunk-payload.ts); undefined if they are deleted. */
  async payload(id: string, name: string): Promise<Buffer | undefined> {
    const { payload } = this.keys.batch(id);
    return (await this.ask(() => this.redis.hgetBuffer(payload, name))) ?? undefined;
  }

  /** The same of several, in one command. @param names at most some thousand */
  async payloads(id: string, names: readonly string[]): Promise<readonly (Buffer | null)[]> {
    if (names.length === 0) return [];
    const { payload } = this.keys.batch(id);
    return this.ask(() => this.redis.hmgetBuffer(payload, ...names));
  }

  async unsent(): Promise<number> {
    return Number((await this.ask(() => this.redis.hget(this.keys.counts, 'unsent'))) ?? 0);
  }

  protected async ask<Reply>(command: () => Promise<Reply>): Promise<Reply> {
    try {
      return await command();
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

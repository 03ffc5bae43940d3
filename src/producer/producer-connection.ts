import { randomBytes } from 'node:crypto';
import type { Queue } from 'bullmq';
import { NoticeQueueError } from '../contracts/errors.ts';
import { sealingOf, type Sealing } from '../payload/seal.ts';
import { findKey, type FindKey } from '../number-index/number-key.ts';
import { connectRedis, type RedisClient } from '../redis/connect.ts';
import type { CarriedTrace } from '../tracing/job-trace.ts';
import type { sendSpan } from '../tracing/spans.ts';
import type { NoticeSource } from '../notices/notice-source.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../redis/keys.ts';
import {
  entriesOf,
  removeEntries,
  writeEntries,
  type WrittenEntry,
} from '../number-index/notice-number-index.ts';
import type { QueueSettings } from './options.ts';
import { ADD_ONCE_MS, type PlannedJob } from './plan-jobs.ts';
import { RedisCalls } from './redis-calls.ts';

/** Jobs of one `addBulk` call: measured, the fastest number of small jobs. */
const JOBS_PER_CALL = 500;
/** Contacts of one `addBulk` call, so that large jobs block neither this process nor Redis for long. */
const CONTACTS_PER_CALL = 20_000;
const KEYS_PER_CALL = 1_000;

/** What only calls that enqueue need. */
interface SendParts {
  readonly queue: Queue;
  readonly sendSpan: typeof sendSpan;
}

/**
 * A producer's connection to the queue. It reconnects by itself; when calls are repeated and when they fail
 * is decided by {@link RedisCalls}.
 */
export class ProducerConnection {
  readonly #calls: RedisCalls;
  readonly #client: RedisClient;
  readonly #parts: Promise<SendParts>;
  readonly #keys: Keys;
  readonly #sealing: Sealing;
  #secret: Promise<string> | undefined;
  /** The secret as it was read last. */
  #lastSecret: string | undefined;
  readonly #timeoutMs: number;
  /** Undefined without a search index. */
  readonly #find: { readonly key: FindKey; readonly keepMs: number } | undefined;

  constructor(settings: QueueSettings) {
    const { redis, enqueueTimeoutMs, idempotencyWindowMs, prefix, account } = settings;
    const { findKey: key, findRetentionMs, payloadKey } = settings;
    this.#keys = keysOf(prefix, account);
    this.#sealing = sealingOf(account, { payloadKey });
    this.#timeoutMs = enqueueTimeoutMs;
    this.#find = key === undefined ? undefined : { key: findKey(key), keepMs: findRetentionMs };
    const onError = (error: Error) => this.#calls.noteError(error);
    this.#client = connectRedis(redis, 'producer', onError);
    this.#calls = new RedisCalls(this.#client, {
      timeoutMs: enqueueTimeoutMs,
      // Redis detects a repetition for four times as long, because what was written may arrive late.
      repeatWithinMs: Math.min(ADD_ONCE_MS, idempotencyWindowMs) / 4,
    });
    this.#client.on('close', () => {
      this.#secret = undefined;
    });
    this.#parts = this.#load();
    // Each call that needs them gets the error.
    this.#parts.catch(() => {});
  }

  /**
   * Loads BullMQ and the tracing API while the connection is opened, and not with the module: together they take
   * longer to load than the rest of the package.
   */
  async #load(): Promise<SendParts> {
    const [{ openBullQueue }, spans] = await Promise.all([
      import('../redis/open-queue.ts'),
      import('../tracing/spans.ts'),
    ]);
    const queue = openBullQueue(QUEUE_NAME, this.#client, this.#keys);
    return { queue, sendSpan: spans.sendSpan };
  }

  /**
   * Makes one call that enqueues notices, in its span.
   *
   * @param run gets the trace context to store in the jobs
   */
  async traced<Result>(
    notices: number,
    run: (carried: CarriedTrace | undefined) => Promise<Result>,
  ): Promise<Result> {
    const { sendSpan: inSpan } = await this.#parts;
    return inSpan(QUEUE_NAME, notices, run);
  }

  /**
   * Adds jobs, in order. Calling it again with the same jobs adds nothing.
   *
   * @param carried trace context to store in the jobs
   * @param follows whether other jobs of the same notices are queued already
   * @returns ids of the jobs in the queue; for a repeated idempotency key, of the earlier job
   */
  async add(
    jobs: readonly PlannedJob[],
    carried: CarriedTrace | undefined,
    follows = false,
  ): Promise<string[]> {
    const ids: string[] = [];
    const { queue } = await this.#parts;
    for (const slice of inCalls(jobs)) {
      const calls = slice.map(({ name, data, opts }) => ({
        name,
        data: sealJob(data, opts.jobId, this.#sealing),
        opts: { ...opts, ...carried },
      }));
      const entries =
        this.#find === undefined ? [] : entriesOf(this.#keys, this.#find.key, slice, Date.now());
      const [, added] = await this.#calls.run(
        () => Promise.all([this.#index(entries), queue.addBulk(calls)]),
        weightOf(slice),
        follows || ids.length > 0 ? 'more' : 'notices',
      );
      const taken = new Set(added.map(({ id }) => id));
      for (const job of added) ids.push(job.id ?? '');
      await this.#unindex(entries.filter(({ jobId }) => !taken.has(jobId)));
    }
    return ids;
  }

  /** Writes the search index, in one round trip with the jobs. Its errors do not fail the call. */
  async #index(entries: readonly WrittenEntry[]): Promise<void> {
    if (this.#find === undefined) return;
    await writeEntries(this.#client, entries, this.#find.keepMs).catch(() => {});
  }

  /** Removes entries of jobs that were not added, because their idempotency key was used before. */
  async #unindex(entries: readonly WrittenEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.#calls.run(() => removeEntries(this.#client, entries)).catch(() => {});
  }

  /** Ids of the jobs with these deduplication ids; undefined for an unused one. */
  async holders(deduplicationIds: readonly string[]): Promise<(string | undefined)[]> {
    const held: (string | undefined)[] = [];
    if (deduplicationIds.length === 0) return held;
    const { queue } = await this.#parts;
    for (let start = 0; start < deduplicationIds.length; start += KEYS_PER_CALL) {
      const keys = deduplicationIds
        .slice(start, start + KEYS_PER_CALL)
        .map((id) => `${queue.toKey('de')}:${id}`);
      const ids = await this.#calls.run(() => this.#client.mget(keys), 1, 'nothing');
      for (const id of ids) held.push(id ?? undefined);
    }
    return held;
  }

  /**
   * The secret of the account for keyed hashes in ids: random, made by the first producer that needs it, kept in
   * Redis so that all producers have the same, and read once per connection. Where Redis has lost it (it was emptied,
   * or restored from an older copy), the first producer that reads it anew stores the one it knows.
   */
  secret(): Promise<string> {
    if (this.#secret !== undefined) return this.#secret;
    const reading = this.#readSecret().catch((error: unknown) => {
      if (this.#secret === reading) this.#secret = undefined;
      throw error;
    });
    this.#secret = reading;
    return reading;
  }

  async #readSecret(): Promise<string> {
    const { secret: key } = this.#keys;
    const own = this.#lastSecret ?? randomBytes(32).toString('base64url');
    const [, found] = await this.#calls.run(
      () => Promise.all([this.#client.set(key, own, 'NX'), this.#client.get(key)]),
      1,
      'nothing',
    );
    this.#lastSecret = found ?? own;
    return this.#lastSecret;
  }

  /**
   * Runs a command or script that is not about queueing; it must have the same effect when repeated.
   *
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async ask<Result>(use: (source: NoticeSource) => Promise<Result>): Promise<Result> {
    const source = { redis: this.#client, keys: this.#keys, sealing: this.#sealing };
    try {
      return await this.#calls.run(() => use(source));
    } catch (error) {
      if (!(error instanceof NoticeQueueError) || error.code !== 'QUEUE_UNAVAILABLE') throw error;
      // The message is about a notice that may have been queued.
      const detail = `Redis did not answer within ${this.#timeoutMs} ms, or the connection was lost.`;
      throw new NoticeQueueError('QUEUE_UNAVAILABLE', detail);
    }
  }

  /** Disconnects at once; calls under way fail. */
  async close(): Promise<void> {
    await this.#parts.then(({ queue }) => queue.close()).catch(() => {});
    this.#client.disconnect();
  }
}

/** Cuts jobs into calls of limited size. */
function* inCalls(jobs: readonly PlannedJob[]): Generator<PlannedJob[]> {
  let call: PlannedJob[] = [];
  let contacts = 0;
  for (const job of jobs) {
    const more = job.data.notice.contacts.length;
    if (call.length > 0 && (call.length >= JOBS_PER_CALL || contacts + more > CONTACTS_PER_CALL)) {
      yield call;
      call = [];
      contacts = 0;
    }
    call.push(job);
    contacts += more;
  }
  if (call.length > 0) yield call;
}

/** A call of `JOBS_PER_CALL` jobs weighs as much as one of `CONTACTS_PER_CALL` contacts. */
function weightOf(jobs: readonly PlannedJob[]): number {
  const contacts = jobs.reduce((sum, { data }) => sum + data.notice.contacts.length, 0);
  return Math.max(jobs.length, (contacts / CONTACTS_PER_CALL) * JOBS_PER_CALL);
}

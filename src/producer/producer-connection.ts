import type { Queue } from 'bullmq';
import { withTimeout } from '../async/with-timeout.ts';
import { findKey, type FindKey } from '../number-index/number-key.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { connectRedis, type RedisClient } from '../redis/connect.ts';
import { redisErrorCode, redisFailure } from '../redis/failure.ts';
import type { CarriedTrace } from '../tracing/job-trace.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import {
  entriesOf,
  removeEntries,
  writeEntries,
  type WrittenEntry,
} from '../number-index/notice-number-index.ts';
import type { QueueSettings } from './options.ts';
import type { PlannedJob } from './plan-jobs.ts';

/** Jobs of one `addBulk` call: measured, the fastest number of small jobs. */
const JOBS_PER_CALL = 500;
/** Contacts of one `addBulk` call, so that large jobs block neither this process nor Redis for long. */
const CONTACTS_PER_CALL = 20_000;
const KEYS_PER_CALL = 1_000;

const TIMED_OUT = Symbol('timed out');

/**
 * A producer's connection to the queue. Each call ends within `enqueueTimeoutMs`, including the wait for
 * a connection. It reconnects by itself.
 */
export class ProducerConnection {
  readonly #timeoutMs: number;
  readonly #client: RedisClient;
  readonly #queue: Queue;
  readonly #keys: Keys;
  /** Undefined without a search index. */
  readonly #find: { readonly key: FindKey; readonly keepMs: number } | undefined;
  /** Calls that wait for the connection. One listener for all of them. */
  readonly #waiting = new Set<() => void>();
  /** The last connection error; undefined while connected. */
  #lastError: Error | undefined;

  constructor(settings: QueueSettings) {
    const { redis, enqueueTimeoutMs, prefix, account, findKey: key, findRetentionMs } = settings;
    this.#timeoutMs = enqueueTimeoutMs;
    this.#keys = keysOf(prefix, account);
    this.#find = key === undefined ? undefined : { key: findKey(key), keepMs: findRetentionMs };
    // Reported by the call that fails.
    const onError = (error: Error) => {
      this.#lastError = error;
    };
    this.#client = connectRedis(redis, 'producer', onError, enqueueTimeoutMs);
    this.#client.on('ready', () => {
      this.#lastError = undefined;
      for (const proceed of this.#waiting) proceed();
    });
    this.#queue = openBullQueue(QUEUE_NAME, this.#client, this.#keys);
  }

  /**
   * Adds jobs, in order.
   *
   * @param carried trace context to store in the jobs
   * @returns ids of the jobs in the queue; for a repeated idempotency key, of the earlier job
   */
  async add(jobs: readonly PlannedJob[], carried?: CarriedTrace): Promise<string[]> {
    const ids: string[] = [];
    for (const slice of inCalls(jobs)) {
      const calls =
        carried === undefined
          ? slice
          : slice.map((job) => ({ ...job, opts: { ...job.opts, ...carried } }));
      const entries =
        this.#find === undefined ? [] : entriesOf(this.#keys, this.#find.key, slice, Date.now());
      const [, added] = await this.#bounded(() =>
        Promise.all([this.#index(entries), this.#queue.addBulk(calls)]),
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
    await this.#bounded(() => removeEntries(this.#client, entries)).catch(() => {});
  }

  /** Ids of the jobs with these deduplication ids; undefined for an unused one. */
  async holders(deduplicationIds: readonly string[]): Promise<(string | undefined)[]> {
    const held: (string | undefined)[] = [];
    for (let start = 0; start < deduplicationIds.length; start += KEYS_PER_CALL) {
      const keys = deduplicationIds
        .slice(start, start + KEYS_PER_CALL)
        .map((id) => `${this.#queue.toKey('de')}:${id}`);
      const ids = await this.#bounded(() => this.#client.mget(keys));
      for (const id of ids) held.push(id ?? undefined);
    }
    return held;
  }

  /** Disconnects at once; calls under way fail. */
  async close(): Promise<void> {
    await this.#queue.close().catch(() => {});
    this.#client.disconnect();
  }

  /** Waits for the connection and runs a command, both within the time limit. */
  async #bounded<Result>(command: () => Promise<Result>): Promise<Result> {
    const endsAt = performance.now() + this.#timeoutMs;
    try {
      if (!(await this.#connected())) throw this.#notConnected();
      const result = await withTimeout(command(), endsAt - performance.now(), TIMED_OUT);
      if (result !== TIMED_OUT) return result;
    } catch (error) {
      throw redisFailure(error);
    }
    throw new NoticeQueueError(
      'QUEUE_UNAVAILABLE',
      `Redis did not answer within ${this.#timeoutMs} ms; the notice may or may not have been queued.`,
    );
  }

  /** @returns false if there is still no connection after the time limit */
  async #connected(): Promise<boolean> {
    if (this.#client.status === 'ready') return true;
    let proceed = () => {};
    const ready = new Promise<true>((resolve) => {
      proceed = () => resolve(true);
    });
    this.#waiting.add(proceed);
    try {
      return await withTimeout(ready, this.#timeoutMs, false);
    } finally {
      this.#waiting.delete(proceed);
    }
  }

  #notConnected(): NoticeQueueError {
    const failure = redisFailure(this.#lastError);
    if (failure.code === 'QUEUE_REFUSED') return failure;
    const code = this.#lastError === undefined ? 'Error' : redisErrorCode(this.#lastError);
    return new NoticeQueueError(
      'QUEUE_UNAVAILABLE',
      `No connection to Redis within ${this.#timeoutMs} ms${code === 'Error' ? '' : ` (${code})`}; nothing was queued.`,
    );
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

import type { Queue } from 'bullmq';
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

/** `addBulk` is fastest, and its answer soonest back, at this many small jobs in one call. */
const JOBS_PER_CALL = 500;
/** Big jobs go in smaller calls, so that neither this process nor Redis is busy for long. */
const CONTACTS_PER_CALL = 20_000;
const KEYS_PER_CALL = 1_000;

/**
 * A producer's connection to the queue. Every call is answered or fails within
 * `enqueueTimeoutMs`, the wait for a connection included; when Redis is back, so is the
 * connection.
 */
export class ProducerConnection {
  readonly #timeoutMs: number;
  readonly #client: RedisClient;
  readonly #queue: Queue;
  readonly #keys: Keys;
  /** Undefined where no find index is kept. */
  readonly #find: { readonly key: FindKey; readonly keepMs: number } | undefined;
  /** Calls that wait for the connection. One listener serves them all, however many they are. */
  readonly #waiting = new Set<() => void>();
  /** Why there is no connection. */
  #trouble: Error | undefined;

  constructor(settings: QueueSettings) {
    const { redis, enqueueTimeoutMs, prefix, account, findKey: key, findRetentionMs } = settings;
    this.#timeoutMs = enqueueTimeoutMs;
    this.#keys = keysOf(prefix, account);
    this.#find = key === undefined ? undefined : { key: findKey(key), keepMs: findRetentionMs };
    // Failures reach the caller through the call that meets them.
    const onError = (error: Error) => {
      this.#trouble = error;
    };
    this.#client = connectRedis(redis, 'producer', onError, enqueueTimeoutMs);
    this.#client.on('ready', () => {
      this.#trouble = undefined;
      for (const proceed of this.#waiting) proceed();
    });
    this.#queue = openBullQueue(QUEUE_NAME, this.#client, this.#keys);
  }

  /**
   * Adds jobs, in order, and answers the ids under which the queue holds them.
   *
   * @param carried the trace that they carry on, where there is one
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
        Promise.all([this.#note(entries), this.#queue.addBulk(calls)]),
      );
      const taken = new Set(added.map(({ id }) => id));
      for (const job of added) ids.push(job.id ?? '');
      await this.#forget(entries.filter(({ jobId }) => !taken.has(jobId)));
    }
    return ids;
  }

  /** In one round trip with the jobs. Only these decide whether the call has failed. */
  async #note(entries: readonly WrittenEntry[]): Promise<void> {
    if (this.#find === undefined) return;
    await writeEntries(this.#client, entries, this.#find.keepMs).catch(() => {});
  }

  /** A repeated key or a conflict: the queue holds another job, or none. */
  async #forget(entries: readonly WrittenEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.#bounded(() => removeEntries(this.#client, entries)).catch(() => {});
  }

  /** The ids of the jobs that hold deduplication ids; undefined for one that nobody holds. */
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

  /** Ends the connection at once; calls under way fail. */
  async close(): Promise<void> {
    await this.#queue.close().catch(() => {});
    this.#client.disconnect();
  }

  async #bounded<Result>(call: () => Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined;
    let asked = false;
    const timedOut = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#timeout(asked)), this.#timeoutMs);
    });
    try {
      await this.#ready(timedOut);
      asked = true;
      return await Promise.race([call(), timedOut]);
    } catch (error) {
      throw redisFailure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ready(timedOut: Promise<never>): Promise<void> {
    if (this.#client.status === 'ready') return;
    let proceed = () => {};
    const connected = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    this.#waiting.add(proceed);
    try {
      await Promise.race([connected, timedOut]);
    } finally {
      this.#waiting.delete(proceed);
    }
  }

  #timeout(asked: boolean): NoticeQueueError {
    if (asked) {
      return new NoticeQueueError(
        'QUEUE_UNAVAILABLE',
        `Redis did not answer within ${this.#timeoutMs} ms; the notice may or may not have been queued.`,
      );
    }
    const failure = redisFailure(this.#trouble);
    if (failure.code === 'QUEUE_REFUSED') return failure;
    const word = this.#trouble === undefined ? 'Error' : redisErrorCode(this.#trouble);
    return new NoticeQueueError(
      'QUEUE_UNAVAILABLE',
      `No connection to Redis within ${this.#timeoutMs} ms${word === 'Error' ? '' : ` (${word})`}; nothing was queued.`,
    );
  }
}

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

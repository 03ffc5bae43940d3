import type { Queue } from 'bullmq';
import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import type { CheckedNotice, Receipt } from '../contracts/notice.ts';
import { isTooLate, TOO_LATE, type CheckedOptions } from '../contracts/send-options.ts';
import type { NoticeSource } from '../notices/read-job.ts';
import { entriesOf, removeEntries, writeEntries } from '../number-index/notice-number-index.ts';
import { findKey, type FindKey } from '../number-index/number-key.ts';
import { readAccountSecret } from '../payload/account-secret.ts';
import { sealingOf, type Sealing } from '../payload/seal.ts';
import { sealJob } from '../payload/sealed-job.ts';
import { connectRedis, type RedisClient } from '../redis/connect.ts';
import { keysOf, QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { MemoryRoom } from '../redis/memory-room.ts';
import { ServerClock } from '../redis/server-clock.ts';
import type { CarriedTrace } from '../tracing/spans.ts';
import type { QueueSettings } from './options.ts';
import { ADD_ONCE_MS, judge, needsAccount, planJob, type PlannedJob } from './planned-job.ts';
import { RedisCalls } from './redis-calls.ts';

/** Jobs of one `addBulk` call: measured, the fastest number of small jobs. */
const JOBS_PER_CALL = 500;
/** Contacts of one `addBulk` call, so that large jobs block neither this process nor Redis for long. */
const CONTACTS_PER_CALL = 20_000;
const KEYS_PER_CALL = 1_000;

/** Memory of a waiting job in Redis, and of a contact in it; roughly. */
const JOB_BYTES = 1_000;
const CONTACT_BYTES = 200;

/** The secret and the clock are read again after so long: the clocks of two machines drift apart. */
const READ_AGAIN_MS = 600_000;

export interface CheckedSend {
  readonly notice: CheckedNotice;
  readonly options: CheckedOptions;
}

/**
 * A producer's connection to the queue: it plans jobs and adds them. It reconnects by itself; when calls are repeated and
 * when they fail is decided by {@link RedisCalls}.
 */
export class ProducerConnection {
  readonly #settings: QueueSettings;
  readonly #calls: RedisCalls;
  readonly #client: RedisClient;
  /** What only calls that enqueue need. */
  readonly #parts: ReturnType<typeof loadQueue>;
  readonly #keys: Keys;
  readonly #sealing: Sealing;
  readonly #clock: ServerClock;
  readonly #room: MemoryRoom;
  /** The reading of secret and clock, and when it began, in monotonic time. */
  #account: { readonly secret: Promise<string>; readonly at: number } | undefined;
  /** Undefined without a search index. */
  readonly #findKey: FindKey | undefined;

  constructor(settings: QueueSettings) {
    const { redis, enqueueTimeoutMs, idempotencyWindowMs, prefix, account } = settings;
    this.#settings = settings;
    this.#keys = keysOf(prefix, account);
    this.#sealing = sealingOf(account, { payloadKey: settings.payloadKey });
    this.#findKey = settings.findKey === undefined ? undefined : findKey(settings.findKey);
    const onError = (error: Error) => this.#calls.noteError(error);
    this.#client = connectRedis(redis, 'producer', onError);
    this.#clock = new ServerClock(this.#client);
    this.#room = new MemoryRoom(this.#client, 'notices');
    this.#calls = new RedisCalls(this.#client, {
      timeoutMs: enqueueTimeoutMs,
      // Redis detects a repetition for four times as long, because what was written may arrive late.
      repeatWithinMs: Math.min(ADD_ONCE_MS, idempotencyWindowMs) / 4,
    });
    // After it, another server may answer.
    this.#client.on('close', () => {
      this.#account = undefined;
    });
    this.#parts = loadQueue(this.#client, this.#keys);
    // Each call that needs them gets the error.
    this.#parts.catch(() => {});
  }

  /** Queues notices, in the span of their call. Checks all idempotency keys first: nothing is queued after a conflict. */
  async enqueue(sends: readonly CheckedSend[]): Promise<Receipt[]> {
    const { queue, sendSpan: inSpan } = await this.#parts;
    return inSpan(QUEUE_NAME, sends.length, async (carried) => {
      // Workers find in the account which keys producers use.
      const isSealed = this.#sealing.keys.length > 0;
      const isRead = isSealed || sends.some(({ options }) => needsAccount(options));
      const secret = isRead ? await this.#readAccount() : '';
      const settings = { ...this.#settings, now: () => this.#clock.now(), secret };
      const jobs = sends.map(({ notice, options }) => planJob(notice, options, settings));
      const isLate = sends.some(({ options }) => isTooLate(options));
      if (jobs.length > 1 || isLate) await this.#checkKeys(queue, jobs, sends);
      return receiptsOf(jobs, await this.#add(queue, jobs, carried));
    });
  }

  /**
   * @throws NoticeQueueError IDEMPOTENCY_CONFLICT if a key was used for another notice, also in the same call
   * @throws InputError NOTICE_INVALID if a notice would expire before it may be sent, unless its key is in use
   */
  async #checkKeys(
    queue: Queue,
    jobs: readonly PlannedJob[],
    sends: readonly CheckedSend[],
  ): Promise<void> {
    const keyed = jobs.flatMap((job, index) =>
      job.opts.deduplication.id === job.opts.jobId ? [] : [{ job, index }],
    );
    const seen = new Map<string, string>();
    for (let start = 0; start < keyed.length; start += KEYS_PER_CALL) {
      const some = keyed.slice(start, start + KEYS_PER_CALL);
      const keys = some.map(({ job }) => `${queue.toKey('de')}:${job.opts.deduplication.id}`);
      const held = await this.#calls.run(() => this.#client.mget(keys), 1, 'nothing');
      for (const [at, { job, index }] of some.entries()) {
        const { deduplication, jobId } = job.opts;
        const holder = seen.get(deduplication.id) ?? held[at] ?? undefined;
        if (holder === undefined) {
          if (isTooLate(sends[index]?.options ?? {})) throw tooLate(index, jobs.length);
          seen.set(deduplication.id, jobId);
        } else if (judge(job, holder) === 'conflict') {
          throw conflict(index, jobs.length, 'nothing was queued');
        }
      }
    }
  }

  /**
   * Adds jobs, in order. Adding the same jobs again adds nothing.
   *
   * @returns ids of the jobs in the queue; for a repeated idempotency key, of the earlier job
   */
  async #add(
    queue: Queue,
    jobs: readonly PlannedJob[],
    carried: CarriedTrace | undefined,
  ): Promise<string[]> {
    const ids: string[] = [];
    for (const { slice, contacts } of inCalls(jobs)) {
      const calls = slice.map(({ name, data, opts }) => ({
        name,
        data: sealJob(data, opts.jobId, this.#sealing),
        opts: { ...opts, ...carried },
      }));
      const entries =
        this.#findKey === undefined ? [] : entriesOf(this.#keys, this.#findKey, slice, Date.now());
      // In one round trip with the jobs; an error of the search index does not fail the call.
      const index = async () => {
        if (entries.length === 0) return;
        await writeEntries(this.#client, entries, this.#settings.keepFailedMs).catch(() => {});
      };
      const bytes = slice.length * JOB_BYTES + contacts * CONTACT_BYTES;
      // A call of JOBS_PER_CALL jobs weighs as much as one of CONTACTS_PER_CALL contacts.
      const weight = Math.max(slice.length, (contacts / CONTACTS_PER_CALL) * JOBS_PER_CALL);
      const [, added] = await this.#calls.run(
        async () => {
          if (!(await this.#room.has(bytes))) throw new NoticeQueueError('REDIS_FULL');
          return Promise.all([index(), queue.addBulk(calls)]);
        },
        weight,
        ids.length > 0 ? 'more' : 'notices',
      );
      const taken = new Set(added.map(({ id }) => id));
      for (const { id = '' } of added) ids.push(id);
      // Of jobs that were not added, because their idempotency key was used before.
      const left = entries.filter(({ jobId }) => !taken.has(jobId));
      if (left.length > 0) {
        await this.#calls.run(() => removeEntries(this.#client, left)).catch(() => {});
      }
    }
    return ids;
  }

  /**
   * Reads the clock of Redis and the secret of the account, once per connection. The secret is for keyed hashes in ids:
   * random, made by the first producer that needs it, kept in Redis so that all producers have the same.
   */
  #readAccount(): Promise<string> {
    const at = performance.now();
    const known = this.#account;
    if (known !== undefined && at - known.at < READ_AGAIN_MS) return known.secret;
    const read = async () => {
      const secret = readAccountSecret(this.#client, this.#keys.account, this.#sealing);
      return (await Promise.all([secret, this.#clock.read()]))[0];
    };
    const secret = this.#calls.run(read, 1, 'nothing').catch((error: unknown) => {
      if (this.#account?.secret === secret) this.#account = undefined;
      throw error;
    });
    this.#account = { secret, at };
    return secret;
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
      const detail = `Redis did not answer within ${this.#settings.enqueueTimeoutMs} ms, or the connection was lost.`;
      throw new NoticeQueueError('QUEUE_UNAVAILABLE', detail);
    }
  }

  /** Loads what sends need, and asks Redis. @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
  async ready(): Promise<void> {
    await this.#parts;
    await this.ask(({ redis }) => redis.ping());
  }

  /** Disconnects at once; calls under way fail. */
  async close(): Promise<void> {
    await this.#parts.then(({ queue }) => queue.close()).catch(() => {});
    this.#client.disconnect();
  }
}

/**
 * Loads BullMQ and the tracing API while the connection is opened, and not with the module: together they take
 * longer to load than the rest of the package.
 */
async function loadQueue(client: RedisClient, keys: Keys) {
  const [{ openBullQueue }, { sendSpan }] = await Promise.all([
    import('../redis/open-queue.ts'),
    import('../tracing/spans.ts'),
  ]);
  return { queue: openBullQueue(QUEUE_NAME, client, keys), sendSpan };
}

/** @param heldIds of the jobs that the queue has, in the order of those that were added */
function receiptsOf(jobs: readonly PlannedJob[], heldIds: readonly string[]): Receipt[] {
  const receipts: Receipt[] = [];
  let conflictAt: number | undefined;
  for (const [index, job] of jobs.entries()) {
    const id = heldIds[index] ?? '';
    const verdict = judge(job, id);
    if (verdict === 'conflict') conflictAt ??= index;
    const contacts = job.data.notice.contacts.length;
    receipts.push({ id, contacts, duplicate: verdict === 'duplicate' });
  }
  if (conflictAt === undefined) return receipts;
  throw conflict(conflictAt, jobs.length, 'the other notices of the call are queued');
}

export function tooLate(index: number, of: number): InputError {
  const place = of === 1 ? 'options' : `notices[${index}] options`;
  return new InputError('NOTICE_INVALID', [{ field: `${place}.expiresAt`, problem: TOO_LATE }]);
}

export function conflict(index: number, of: number, consequence: string): NoticeQueueError {
  const detail = `The idempotency key of notices[${index}] was used before for a different notice; ${consequence}.`;
  return new NoticeQueueError('IDEMPOTENCY_CONFLICT', of === 1 ? undefined : detail);
}

/** Cuts jobs into calls of limited size. */
function* inCalls(
  jobs: readonly PlannedJob[],
): Generator<{ readonly slice: readonly PlannedJob[]; readonly contacts: number }> {
  let slice: PlannedJob[] = [];
  let contacts = 0;
  for (const job of jobs) {
    const more = job.data.notice.contacts.length;
    const isFull = slice.length >= JOBS_PER_CALL || contacts + more > CONTACTS_PER_CALL;
    if (slice.length > 0 && isFull) {
      yield { slice, contacts };
      slice = [];
      contacts = 0;
    }
    slice.push(job);
    contacts += more;
  }
  if (slice.length > 0) yield { slice, contacts };
}

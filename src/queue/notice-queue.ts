import { setTimeout } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { noticeSchema, type Notice, type Receipt } from '../contracts/notice.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { sendOptionsSchema, type SendOptions } from '../contracts/send-options.ts';
import { NoticeQueueError } from '../errors.ts';
import { connectRedis, readyWithin, type RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { keysOf, QUEUE_NAME } from '../redis/keys.ts';
import { readQueueOptions, type NoticeQueueOptions, type QueueSettings } from './options.ts';
import { jobId, judgeHead, planJob, planNotice } from './plan-notice.ts';
import type { PlannedJob, PlannedNotice } from './plan-notice.ts';

/** `addBulk` is fastest, and its answer soonest back, at this many jobs in one call. */
const JOBS_PER_CALL = 500;

/** Options for all notices of `sendMany`, or a function that gives each its own. */
export type SendManyOptions =
  SendOptions | ((notice: Notice, index: number) => SendOptions | undefined);

/**
 * Hands notices to the queue. Needs Redis and no credentials of the service.
 *
 * Build it once and keep it: it holds one connection. A call is answered within about one Redis
 * round trip, and fails within `enqueueTimeoutMs` when Redis is away or frozen; once Redis is back
 * the next call succeeds by itself.
 *
 * @example
 * const notices = new NoticeQueue({ redis: { url: 'redis://127.0.0.1:6379' } });
 * const receipt = await notices.send({
 *   templateCode: 'ORDER_SHIPPED',
 *   contacts: [{ contact: '01012345678', var1: 'A-1001' }],
 * });
 */
export class NoticeQueue {
  readonly #settings: QueueSettings;
  readonly #client: RedisClient;
  readonly #queue: Queue;
  #closed: Promise<void> | undefined;

  /** @throws InputError CONFIG_INVALID that names every wrong or unknown option */
  constructor(options: NoticeQueueOptions = {}) {
    this.#settings = readQueueOptions(options);
    const { redis, enqueueTimeoutMs, prefix, account } = this.#settings;
    // Failures reach the caller through the call that meets them.
    this.#client = connectRedis(redis, 'producer', () => {}, enqueueTimeoutMs);
    this.#queue = new Queue(QUEUE_NAME, {
      connection: this.#client,
      prefix: keysOf(prefix, account).bullPrefix,
      // Without these two a queue that was built while Redis was away would never recover.
      skipWaitingForReady: true,
      skipVersionCheck: true,
      // The worker owns the queue's settings.
      skipMetasUpdate: true,
    });
    this.#queue.on('error', () => {});
  }

  /**
   * Queues one notice. Contacts beyond the chunk size are cut into several jobs.
   *
   * @throws InputError NOTICE_INVALID that names each wrong field; nothing was queued
   * @throws NoticeQueueError IDEMPOTENCY_CONFLICT, QUEUE_UNAVAILABLE, QUEUE_REFUSED, QUEUE_CLOSED
   */
  async send(notice: Notice, options: SendOptions = {}): Promise<Receipt> {
    const plan = this.#plan(notice, options, '');
    const [receipt] = await this.#enqueue([plan]);
    if (receipt === undefined) throw new NoticeQueueError('QUEUE_UNAVAILABLE');
    return receipt;
  }

  /**
   * Queues many notices, after all of them have been checked: if one is wrong, none is queued.
   * They are held in memory meanwhile. With one `idempotencyKey` for all, each notice's own key is
   * that key, a slash and the notice's index.
   *
   * When Redis fails on the way, a part may have been queued; repeat the call with the same keys.
   *
   * @returns one receipt for each notice, in their order
   * @throws as {@link NoticeQueue.send}; fields are named `notices[2].contacts[0].contact`
   */
  async sendMany(
    notices: Iterable<Notice> | AsyncIterable<Notice>,
    options: SendManyOptions = {},
  ): Promise<Receipt[]> {
    const plans: PlannedNotice[] = [];
    for await (const notice of notices) {
      const index = plans.length;
      plans.push(this.#plan(notice, optionsOf(options, notice, index), `notices[${index}]`));
    }
    return this.#enqueue(plans);
  }

  /** Closes the connection; safe to call twice. What was answered with a receipt is queued. */
  async close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#queue.close().catch(() => {});
      this.#client.disconnect();
    })();
    await this.#closed;
  }

  #plan(notice: unknown, options: unknown, prefix: string): PlannedNotice {
    const checked = parseInput(noticeSchema, notice, 'NOTICE_INVALID', prefix);
    const place = prefix === '' ? 'options' : `${prefix} options`;
    const checkedOptions = parseInput(sendOptionsSchema, options, 'NOTICE_INVALID', place);
    return planNotice(checked, checkedOptions, this.#settings.chunkSize, Date.now());
  }

  /**
   * First jobs first: the queue's answer tells a repeated key from a new notice, and only then are
   * the other chunks added, under the id of the notice that owns the key.
   */
  async #enqueue(plans: readonly PlannedNotice[]): Promise<Receipt[]> {
    const window = this.#settings.idempotencyWindowMs;
    const heldIds = await this.#add(plans.map((plan) => planJob(plan, plan.id, 0, window)));
    const receipts: Receipt[] = [];
    const tails: PlannedJob[] = [];
    for (const [index, plan] of plans.entries()) {
      const verdict = judgeHead(plan, heldIds[index] ?? '');
      if (verdict.kind === 'conflict') {
        throw new NoticeQueueError(
          'IDEMPOTENCY_CONFLICT',
          plans.length === 1
            ? undefined
            : `The idempotency key of notices[${index}] was used before for a different notice; ` +
                'the other notices of the call may be queued.',
        );
      }
      const duplicate = verdict.kind === 'duplicate';
      const id = duplicate ? verdict.noticeId : plan.id;
      const chunks = plan.chunks.length;
      for (let chunk = 1; chunk < chunks; chunk++) tails.push(planJob(plan, id, chunk, window));
      const jobs = Array.from({ length: chunks }, (_, chunk) => jobId(id, chunk, chunks));
      receipts.push({ id, jobs, contacts: plan.contacts, duplicate });
    }
    await this.#add(tails);
    return receipts;
  }

  /** Adds jobs and answers the ids under which the queue holds them. */
  async #add(jobs: readonly PlannedJob[]): Promise<string[]> {
    const ids: string[] = [];
    for (let start = 0; start < jobs.length; start += JOBS_PER_CALL) {
      const slice = jobs.slice(start, start + JOBS_PER_CALL);
      const added = await this.#bounded(() => this.#queue.addBulk([...slice]));
      for (const job of added) ids.push(job.id ?? '');
    }
    return ids;
  }

  /** Runs one Redis call within the enqueue timeout, the wait for a connection included. */
  async #bounded<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw new NoticeQueueError('QUEUE_CLOSED');
    const { enqueueTimeoutMs } = this.#settings;
    const begun = performance.now();
    if (!(await readyWithin(this.#client, enqueueTimeoutMs))) {
      throw new NoticeQueueError(
        'QUEUE_UNAVAILABLE',
        `No connection to Redis within ${enqueueTimeoutMs} ms; nothing was queued.`,
      );
    }
    const rest = enqueueTimeoutMs - (performance.now() - begun);
    const timeout = new AbortController();
    try {
      return await Promise.race([
        call(),
        setTimeout(rest, undefined, { signal: timeout.signal }).then(() => {
          throw new NoticeQueueError('QUEUE_UNAVAILABLE');
        }),
      ]);
    } catch (error) {
      throw redisFailure(error);
    } finally {
      timeout.abort();
    }
  }
}

function optionsOf(options: SendManyOptions, notice: Notice, index: number): SendOptions {
  if (typeof options === 'function') return options(notice, index) ?? {};
  if (options.idempotencyKey === undefined) return options;
  return { ...options, idempotencyKey: `${options.idempotencyKey}/${index}` };
}

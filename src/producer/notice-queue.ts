import type { z } from 'zod';
import {
  batchEvents,
  type BatchEvent,
  type BatchEventsOptions,
} from '../batch/ledger/batch-events.ts';
import type { ImportOptions, ImportReport } from '../batch/import/import-options.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import type { Notice, Receipt } from '../contracts/notice.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { readNotice } from '../contracts/read-notice.ts';
import { sendOptionsSchema, type SendOptions } from '../contracts/send-options.ts';
import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import { keysOf, QUEUE_NAME } from '../redis/keys.ts';
import type { CarriedTrace } from '../tracing/job-trace.ts';
import { sendSpan } from '../tracing/spans.ts';
import { importThrough } from './import-connection.ts';
import { readQueueOptions, type NoticeQueueOptions, type QueueSettings } from './options.ts';
import { jobIds, judgeHead, planJobs, planNotice } from './plan-jobs.ts';
import type { PlannedJob, PlannedNotice } from './plan-jobs.ts';
import { ProducerConnection } from './producer-connection.ts';

/** Options for all notices of `sendMany`, or a function that gives each its own. */
export type SendManyOptions =
  SendOptions | ((notice: Notice, index: number) => SendOptions | undefined);

/** Options of one send, checked. */
type CheckedOptions = z.output<typeof sendOptionsSchema>;

/**
 * Hands notices to the queue. Needs Redis and no credentials of the service.
 *
 * Build it once and keep it: it holds one connection. A call is answered within about one Redis
 * round trip, and fails once Redis has not answered for `enqueueTimeoutMs`; when Redis is back the
 * next call succeeds by itself.
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
  readonly #connection: ProducerConnection;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /** @throws InputError CONFIG_INVALID that names every wrong or unknown option */
  constructor(options: NoticeQueueOptions = {}) {
    this.#settings = readQueueOptions(options);
    this.#connection = new ProducerConnection(this.#settings);
  }

  /**
   * Queues one notice. Contacts beyond the chunk size are cut into several jobs.
   *
   * @throws InputError NOTICE_INVALID that names each wrong field; nothing was queued
   * @throws NoticeQueueError IDEMPOTENCY_CONFLICT, QUEUE_UNAVAILABLE, QUEUE_REFUSED, QUEUE_CLOSED
   */
  async send(notice: Notice, options: SendOptions = {}): Promise<Receipt> {
    this.#mustBeOpen();
    const plan = this.#plan(notice, readOptions(options, 'options'), '');
    const [receipt] = await this.#track(
      sendSpan(QUEUE_NAME, 1, (carried) => this.#enqueue([plan], carried)),
    );
    if (receipt === undefined) throw new NoticeQueueError('QUEUE_UNAVAILABLE');
    return receipt;
  }

  /**
   * Queues many notices, after all of them have been checked: if one is wrong, or its idempotency
   * key stands for a different notice, none is queued. They are held in memory meanwhile. With one
   * `idempotencyKey` for all, each notice's own key is that key, a slash and the notice's index.
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
    this.#mustBeOpen();
    const optionsOf = optionsForEach(options);
    const plans: PlannedNotice[] = [];
    const take = (notice: Notice) => {
      const index = plans.length;
      plans.push(this.#plan(notice, optionsOf(notice, index), `notices[${index}]`));
    };
    if (isIterable(notices)) for (const notice of notices) take(notice);
    else if (isAsyncIterable(notices)) for await (const notice of notices) take(notice);
    else {
      throw new InputError('NOTICE_INVALID', [
        { field: 'notices', problem: 'expected a list or another iterable of notices' },
      ]);
    }
    // It may have been closed while the list was read.
    this.#mustBeOpen();
    return this.#track(
      sendSpan(QUEUE_NAME, plans.length, (carried) => this.#enqueueMany(plans, carried)),
    );
  }

  /**
   * What becomes of batches: an endless iteration, ended by leaving the loop, by the signal, or by
   * {@link NoticeQueue.close}. Each event has a `cursor`; keep the last one and hand it to `from`
   * to go on after a restart. Uses a connection of its own.
   *
   * @example
   * for await (const event of notices.batchEvents({ from: lastCursor })) {
   *   if (event.event === 'batch.finished') report(event.batch, event.accepted);
   * }
   * @throws InputError CONFIG_INVALID at once; NoticeQueueError QUEUE_CLOSED at once, and
   *   QUEUE_UNAVAILABLE or QUEUE_REFUSED while iterating, where Redis answers with an error
   */
  batchEvents(options: BatchEventsOptions = {}): AsyncGenerator<BatchEvent, void, undefined> {
    this.#mustBeOpen();
    const { redis, prefix, account } = this.#settings;
    return batchEvents(redis, keysOf(prefix, account), options, this.#closing.signal);
  }

  /**
   * Hands over a contact list of any length as one batch: the path of a CSV or NDJSON file (gzip,
   * too), a stream of its bytes, or an iterable of contacts. Memory stays flat; rows that are wrong
   * are refused one by one and the others go on; sending begins with the first chunk.
   *
   * An import that was killed goes on when it is run again with the same file and options, or with
   * the same `batchId` and the same rows. It pauses while more than `highWater` contacts wait in
   * Redis, and puts up with a Redis that is away for up to a minute.
   *
   * @throws InputError NOTICE_INVALID that names each wrong option; nothing was queued
   * @throws NoticeQueueError SOURCE_INVALID, BATCH_CONFLICT, BATCH_CANCELLED, REJECTS_UNWRITABLE,
   * IMPORT_STOPPED, QUEUE_UNAVAILABLE, QUEUE_REFUSED, QUEUE_CLOSED; says what was queued
   */
  async import(source: ImportSource, options: ImportOptions): Promise<ImportReport> {
    this.#mustBeOpen();
    return this.#track(importThrough(this.#settings, source, options, this.#closing.signal));
  }

  /**
   * Closes the connection, after the calls under way were answered or failed. Safe to call twice.
   * Later calls fail with QUEUE_CLOSED, and so does a `sendMany` whose list is still being read;
   * an import stops with IMPORT_STOPPED.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= (async () => {
      await Promise.allSettled(this.#underWay);
      await this.#connection.close();
    })();
    await this.#closed;
  }

  #mustBeOpen(): void {
    if (this.#closed !== undefined) throw new NoticeQueueError('QUEUE_CLOSED');
  }

  #plan(notice: unknown, options: CheckedOptions, place: string): PlannedNotice {
    const { chunkSize, delivery } = this.#settings;
    return planNotice(readNotice(notice, place), options, chunkSize, Date.now(), delivery);
  }

  async #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Looks first for keys that stand for something else, so that a conflict queues nothing. */
  async #enqueueMany(
    plans: readonly PlannedNotice[],
    carried: CarriedTrace | undefined,
  ): Promise<Receipt[]> {
    const keyed = plans.flatMap(({ keyHash }, index) =>
      keyHash === undefined ? [] : [{ keyHash, index }],
    );
    const holders = await this.#connection.holders(keyed.map(({ keyHash }) => keyHash));
    const seen = new Map<string, string>();
    for (const [at, { keyHash, index }] of keyed.entries()) {
      const plan = plans[index];
      if (plan === undefined) continue;
      const holder = seen.get(keyHash) ?? holders[at];
      if (holder === undefined) seen.set(keyHash, plan.id);
      else if (judgeHead(plan, holder).kind === 'conflict') {
        throw conflict(index, 'nothing was queued');
      }
    }
    return this.#enqueue(plans, carried);
  }

  /**
   * First jobs first: the queue's answer tells a repeated key from a new notice, and only then are
   * the other chunks added, under the id of the notice that owns the key. A notice without a key
   * has no earlier owner, so all its jobs go at once.
   *
   * @param carried the trace that all the jobs belong to
   */
  async #enqueue(
    plans: readonly PlannedNotice[],
    carried: CarriedTrace | undefined,
  ): Promise<Receipt[]> {
    const window = this.#settings.idempotencyWindowMs;
    const first: PlannedJob[] = [];
    const heads: number[] = [];
    for (const plan of plans) {
      heads.push(first.length);
      const all = plan.keyHash === undefined;
      for (const job of planJobs(plan, plan, 0, all ? undefined : 1, window)) first.push(job);
    }
    const heldIds = await this.#connection.add(first, carried);

    const receipts: Receipt[] = [];
    const rest: PlannedJob[] = [];
    let conflictAt: number | undefined;
    for (const [index, plan] of plans.entries()) {
      const verdict = judgeHead(plan, heldIds[heads[index] ?? -1] ?? '');
      if (verdict.kind === 'conflict') {
        conflictAt ??= index;
        continue;
      }
      const { owner } = verdict;
      if (plan.keyHash !== undefined) {
        for (const job of planJobs(plan, owner, 1, undefined, window)) rest.push(job);
      }
      receipts.push({
        id: owner.id,
        jobs: jobIds(plan, owner),
        contacts: plan.notice.contacts.length,
        duplicate: verdict.kind === 'duplicate',
      });
    }
    await this.#connection.add(rest, carried);
    if (conflictAt !== undefined) {
      throw plans.length === 1
        ? new NoticeQueueError('IDEMPOTENCY_CONFLICT')
        : conflict(conflictAt, 'the other notices of the call are queued');
    }
    return receipts;
  }
}

function conflict(index: number, consequence: string): NoticeQueueError {
  return new NoticeQueueError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key of notices[${index}] was used before for a different notice; ${consequence}.`,
  );
}

function readOptions(options: unknown, place: string): CheckedOptions {
  return parseInput(sendOptionsSchema, options, 'NOTICE_INVALID', place);
}

/** Options for all are checked once, before the first notice is taken. */
function optionsForEach(
  options: SendManyOptions,
): (notice: Notice, index: number) => CheckedOptions {
  if (typeof options === 'function') {
    return (notice, index) =>
      readOptions(options(notice, index) ?? {}, `notices[${index}] options`);
  }
  const checked = readOptions(options, 'options');
  const { idempotencyKey } = checked;
  if (idempotencyKey === undefined) return () => checked;
  return (_, index) => ({ ...checked, idempotencyKey: `${idempotencyKey}/${index}` });
}

function isIterable(value: unknown): value is Iterable<Notice> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Notice> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

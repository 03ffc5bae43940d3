import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ImportOf, ImportReport } from '../batch/import/import-options.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import { readNotice, type NoticeOf, type Receipt } from '../contracts/notice.ts';
import type {
  CancelOptions,
  CancelReport,
  NoticeRef,
  NoticeView,
} from '../notices/notice-state.ts';
import {
  optionsForEach,
  readOptions,
  type SendManyOptions,
  type SendOptions,
} from '../contracts/send-options.ts';
import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import type { AccountEvent } from '../events/event.ts';
import { accountEvents, type EventsOptions } from '../events/follow.ts';
import { readCancelOptions, readRef } from '../notices/notice-ref.ts';
import { keysOf } from '../redis/keys.ts';
import {
  withEnvironment,
  readQueueOptions,
  type NoticeQueueOptions,
  type QueueSettings,
} from './options.ts';
import { ProducerConnection, type CheckedSend } from './producer-connection.ts';

/** Any template, with any variables. */
type AnyTemplates = Record<string, unknown>;

/**
 * Adds notices to the queue; workers send them. Needs Redis, but no credentials of the messaging service.
 *
 * Create one and keep it open: it has one connection. A call takes about one round trip to Redis, and
 * fails if Redis answers nothing within `enqueueTimeoutMs`. It reconnects by itself, and repeats a call
 * whose reply was lost with the connection; the notice is queued once. Any number of calls may be made at
 * once: those for which there is no room yet wait without a time limit of their own.
 *
 * @example
 * const notices = new NoticeQueue({ redis: { url: 'redis://127.0.0.1:6379' } });
 * const receipt = await notices.send({
 *   templateCode: 'ORDER_SHIPPED',
 *   contacts: [{ contact: '01012345678', var1: 'A-1001' }],
 * });
 * @typeParam Templates the codes of your templates, each with its variables, such as
 *   `{ ORDER_SHIPPED: { var1: string }; SALE: object }`: the compiler then knows them
 */
export class NoticeQueue<Templates extends object = AnyTemplates> {
  readonly #settings: QueueSettings;
  readonly #connection: ProducerConnection;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /** Connects in the background. The environment is not read. @throws InputError CONFIG_INVALID that names every invalid or unknown option */
  constructor(options: NoticeQueueOptions = {}) {
    this.#settings = readQueueOptions(options);
    this.#connection = new ProducerConnection(this.#settings);
  }

  /**
   * A queue with the settings of the environment: the variable of each option is named at the option
   * ({@link NoticeQueueOptions}). Variables of workers are not read.
   *
   * @param options take precedence over the environment, each as a whole; undefined ones do not
   * @example
   * await using notices = NoticeQueue.fromEnv();
   * @throws InputError CONFIG_INVALID that names every invalid variable, or every invalid option
   */
  static fromEnv<Templates extends object = AnyTemplates>(
    options: NoticeQueueOptions = {},
  ): NoticeQueue<Templates> {
    return new NoticeQueue(withEnvironment(options));
  }

  /**
   * Adds one notice to the queue: up to 1,000 contacts, which are sent in one request. It is stored in Redis when the call
   * resolves.
   *
   * @throws InputError NOTICE_INVALID that names every invalid field; nothing was queued
   * @throws NoticeQueueError IDEMPOTENCY_CONFLICT: the key was used for another notice; nothing was queued.
   *   QUEUE_UNAVAILABLE: Redis did not answer; the message states whether the notice may have been queued.
   *   QUEUE_REFUSED: Redis refused it. REDIS_FULL: its memory is kept for what waits. QUEUE_CLOSED
   */
  async send(notice: NoticeOf<Templates>, options: SendOptions = {}): Promise<Receipt> {
    this.#mustBeOpen();
    const checked = { options: readOptions(options, 'options'), notice: readNotice(notice) };
    const [receipt] = await this.#track(this.#connection.enqueue([checked]));
    if (receipt === undefined) throw new NoticeQueueError('QUEUE_UNAVAILABLE');
    return receipt;
  }

  /**
   * Adds one notice to the queue without waiting for Redis, for code that must not be delayed by it. Never
   * throws: every error, of invalid input too, goes to `onError`. Call {@link NoticeQueue.flush} or
   * {@link NoticeQueue.close} before the process ends; what has not reached Redis by then is lost.
   *
   * @param onError gets what {@link NoticeQueue.send} throws; what it throws itself becomes a warning of
   *   the process
   */
  sendLater(
    notice: NoticeOf<Templates>,
    onError: (error: unknown) => unknown,
    options: SendOptions = {},
  ): void {
    reportTo(onError, this.send(notice, options));
  }

  /**
   * Resolves when Redis answers and what sends need is loaded: for a health check, and so that the first send is fast.
   *
   * @throws NoticeQueueError QUEUE_UNAVAILABLE within `enqueueTimeoutMs`, QUEUE_REFUSED or QUEUE_CLOSED
   */
  async ready(): Promise<void> {
    this.#mustBeOpen();
    await this.#track(this.#connection.ready());
  }

  /**
   * Waits until every call under way has ended, well or not. Later calls are not waited for, nor a `sendMany` whose
   * notices are still being read.
   */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  /**
   * Adds many notices to the queue. All are checked first and kept in memory: if one is invalid, or its
   * idempotency key was used for another notice, none is queued. With one `idempotencyKey` for all, the
   * key of each notice is that key, a slash and its index.
   *
   * If Redis fails during the call, some notices may have been queued; repeat it with the same keys.
   *
   * @returns a receipt for each notice, in order
   * @throws the errors of {@link NoticeQueue.send}; fields have names like
   *   `notices[2].contacts[0].contact`
   */
  async sendMany(
    notices: Iterable<NoticeOf<Templates>> | AsyncIterable<NoticeOf<Templates>>,
    options: SendManyOptions<NoticeOf<Templates>> = {},
  ): Promise<Receipt[]> {
    this.#mustBeOpen();
    const read = readSends(notices, options);
    // A list is read at once: what closes the queue after the call waits for it.
    const sends = Array.isArray(read) ? read : await read;
    // The queue may have been closed while the notices were read.
    this.#mustBeOpen();
    return this.#track(this.#connection.enqueue(sends));
  }

  /**
   * What is known of a notice: its state, why it waits, its attempts, code and remedy. One round trip. It can be named by
   * its id, or by the idempotency key with which it was sent.
   *
   * A notice that does not exist has the state `not-kept`, as one that was deleted after its retention
   * (`kept` tells how long); Redis cannot distinguish the two.
   *
   * @example
   * const { state, pending } = await notices.get(receipt.id);
   * const same = await notices.get({ idempotencyKey: 'order-1001-shipped' });
   * @throws InputError NOTICE_INVALID if it is no id and no key
   * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or QUEUE_CLOSED
   */
  async get(notice: NoticeRef): Promise<NoticeView> {
    this.#mustBeOpen();
    readRef(notice);
    // What only some programs call is loaded by its first call.
    const loaded = import('../notices/look-up.ts');
    return this.#track(
      loaded.then(({ lookUpNotice }) =>
        this.#connection.ask((source) => lookUpNotice(source, notice)),
      ),
    );
  }

  /**
   * Cancels a notice that waits: one that is delayed or held, or that no worker has taken yet. The decision
   * and the removal are one step in Redis, so that `cancelled` is true only if nothing of the notice was sent
   * or will be. Cancelling twice answers the same.
   *
   * The idempotency key stays in use until its window ends, unless `releaseKey` is true.
   *
   * @example
   * const { cancelled, answer } = await notices.cancel({ idempotencyKey: 'visit-1001-reminder' });
   * @throws InputError NOTICE_INVALID if it is no id and no key, or for invalid options
   * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or QUEUE_CLOSED
   */
  async cancel(notice: NoticeRef, options: CancelOptions = {}): Promise<CancelReport> {
    this.#mustBeOpen();
    readRef(notice);
    const checked = readCancelOptions(options);
    const nonce = randomUUID();
    const loaded = import('../notices/cancel.ts');
    return this.#track(
      loaded.then(({ cancelNotice }) =>
        this.#connection.ask(({ redis, keys }) =>
          cancelNotice(redis, keys, notice, checked, nonce),
        ),
      ),
    );
  }

  /**
   * Events of the account, as they happen: of batches, holds and what the watch finds, and with NOTICE_EVENTS at the
   * workers also the ends of single notices. The iteration is endless; it ends when the loop is left, when the signal
   * aborts, or with {@link NoticeQueue.close}. Each event is delivered at least once: store the last `cursor` and pass
   * it as `from` to continue after a restart. Each iteration uses its own connection. An outage of Redis and a
   * failover only delay events.
   *
   * @example
   * for await (const event of notices.events({ from: lastCursor })) {
   *   if (event.event === 'notice.ended') await record(event.notice, event.state, event.cursor);
   * }
   * @throws InputError CONFIG_INVALID for invalid options, at once
   * @throws NoticeQueueError QUEUE_CLOSED at once; QUEUE_UNAVAILABLE or QUEUE_REFUSED while iterating, if
   *   Redis replies with an error that does not pass by itself
   */
  events(options: EventsOptions = {}): AsyncGenerator<AccountEvent, void, undefined> {
    this.#mustBeOpen();
    const { redis, prefix, account } = this.#settings;
    return accountEvents(redis, keysOf(prefix, account), options, this.#closing.signal);
  }

  /**
   * Imports a contact list of any length as one batch: the path of a CSV or NDJSON file, a stream of its
   * bytes (either may be gzipped), or an iterable of contacts. Sending starts with the first chunk. Memory
   * stays bounded. Invalid rows are refused one by one; the others are imported.
   *
   * After a crash, run the same import again: it continues. A list that was imported to its end is refused
   * with LIST_REPEATED, in whatever format it comes; its `batchId` gives its report, and `again` sends it
   * once more. It waits while Redis holds more than `highWater` unsent contacts, and
   * tolerates a Redis outage of up to one minute.
   *
   * @example
   * const report = await notices.import('contacts.csv', { templateCode: 'ORDER_SHIPPED' });
   * console.log(report.batch, report.contacts, report.refused);
   * @throws InputError NOTICE_INVALID that names every invalid option; nothing was queued
   * @throws NoticeQueueError SOURCE_INVALID, LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED,
   *   REJECTS_UNWRITABLE, IMPORT_STOPPED, QUEUE_UNAVAILABLE, QUEUE_REFUSED, REDIS_FULL, QUEUE_CLOSED; the message contains how many
   *   contacts were queued
   */
  async import(source: ImportSource, options: ImportOf<Templates>): Promise<ImportReport> {
    this.#mustBeOpen();
    // A stream may fail before it is read; reading it throws the error again.
    if (source instanceof Readable) source.on('error', () => {});
    const loaded = import('./import-connection.ts');
    return this.#track(
      loaded.then(({ importThrough }) =>
        importThrough(this.#settings, source, options, this.#closing.signal),
      ),
    );
  }

  /**
   * Waits for the calls under way and closes the connection. Can be called twice. Later calls throw
   * QUEUE_CLOSED, and so does a `sendMany` whose notices are still being read; an import ends with
   * IMPORT_STOPPED.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= (async () => {
      await Promise.allSettled(this.#underWay);
      await this.#connection.close();
    })();
    await this.#closed;
  }

  /** Closes the queue at the end of a block: `await using notices = NoticeQueue.fromEnv();`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #mustBeOpen(): void {
    if (this.#closed !== undefined) throw new NoticeQueueError('QUEUE_CLOSED');
  }

  async #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }
}

/** What a {@link NoticeQueue} does, without its private fields: a stub in a test can implement it. */
export type Notices<Templates extends object = AnyTemplates> = Pick<
  NoticeQueue<Templates>,
  keyof NoticeQueue<Templates>
>;

/** Reads and checks the notices of a `sendMany`. */
export function readSends<Notice>(
  notices: Iterable<Notice> | AsyncIterable<Notice>,
  options: SendManyOptions<Notice>,
): CheckedSend[] | Promise<CheckedSend[]> {
  const optionsOf = optionsForEach(options);
  const sends: CheckedSend[] = [];
  const take = (notice: Notice) => {
    const index = sends.length;
    const own = optionsOf(notice, index);
    sends.push({ options: own, notice: readNotice(notice, `notices[${index}]`) });
  };
  const given: object = typeof notices === 'object' && notices !== null ? notices : {};
  if (Symbol.iterator in given) {
    for (const notice of given as Iterable<Notice>) take(notice);
    return sends;
  }
  if (Symbol.asyncIterator in given) {
    return (async () => {
      for await (const notice of given as AsyncIterable<Notice>) take(notice);
      return sends;
    })();
  }
  throw new InputError('NOTICE_INVALID', [
    { field: 'notices', problem: 'expected a list or another iterable of notices' },
  ]);
}

/** Gives the error of a `sendLater` to the handler of its caller. */
export function reportTo(onError: (error: unknown) => unknown, send: Promise<unknown>): void {
  send.catch(async (error: unknown) => {
    try {
      // It may be asynchronous.
      await onError(error);
    } catch {
      process.emitWarning('The error handler of sendLater() threw an error', 'NoticeQueueWarning');
    }
  });
}

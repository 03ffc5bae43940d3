import { randomBytes } from 'node:crypto';
import type { ImportOptions, ImportReport } from '../batch/import/import-options.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import { InputError, NoticeQueueError, type ErrorCode } from '../contracts/errors.ts';
import {
  readNotice,
  type NoticeOf,
  type CheckedNotice,
  type Receipt,
} from '../contracts/notice.ts';
import {
  isTooLate,
  optionsForEach,
  readOptions,
  TOO_LATE,
  type CheckedOptions,
  type SendManyOptions,
  type SendOptions,
} from '../contracts/send-options.ts';
import type { AccountEvent } from '../events/event.ts';
import { readCancelOptions, readRef } from '../notices/notice-ref.ts';
import type {
  CancelOptions,
  CancelReport,
  NoticeRef,
  NoticeState,
  NoticeView,
} from '../notices/notice-state.ts';
import { importThrough } from '../producer/import-connection.ts';
import type { Notices } from '../producer/notice-queue.ts';
import { readQueueOptions } from '../producer/options.ts';
import { fingerprint } from '../producer/planned-job.ts';

/** A notice that was sent to a {@link FakeNoticeQueue}, as it was checked: times are milliseconds since the epoch. */
export interface SentNotice {
  readonly id: string;
  readonly notice: CheckedNotice;
  readonly options: CheckedOptions;
}

/** An import into a {@link FakeNoticeQueue}. */
export interface FakeImport {
  readonly options: ImportOptions;
  readonly report: ImportReport;
}

/**
 * A `NoticeQueue` for unit tests: it needs no Redis, refuses what the real one refuses, and keeps what was sent. Nothing
 * is sent, so a notice stays `pending` until {@link FakeNoticeQueue.setState}.
 *
 * @example
 * const notices = new FakeNoticeQueue();
 * await orderShipped(notices, order);
 * expect(notices.sent).toMatchObject([{ notice: { templateCode: 'ORDER_SHIPPED' } }]);
 */
export class FakeNoticeQueue<
  Templates extends object = Record<string, unknown>,
> implements Notices<Templates> {
  /** What was sent, in order, without duplicates. */
  readonly sent: SentNotice[] = [];
  readonly imports: FakeImport[] = [];
  readonly #states = new Map<string, NoticeState>();
  readonly #byKey = new Map<string, SentNotice>();
  readonly #closing = new AbortController();
  #failure: NoticeQueueError | undefined;

  /** The next call throws this error. */
  failNext(code: ErrorCode): void {
    this.#failure = new NoticeQueueError(code);
  }

  /** What `get` answers from now on. */
  setState(id: string, state: NoticeState): void {
    this.#states.set(id, state);
  }

  async send(notice: NoticeOf<Templates>, options: SendOptions = {}): Promise<Receipt> {
    await this.#begin();
    const checked = readOptions(options, 'options');
    return this.#queue([{ notice: readNotice(notice), options: checked }])[0] as Receipt;
  }

  async sendMany(
    notices: Iterable<NoticeOf<Templates>> | AsyncIterable<NoticeOf<Templates>>,
    options: SendManyOptions<NoticeOf<Templates>> = {},
  ): Promise<Receipt[]> {
    await this.#begin();
    const optionsOf = optionsForEach(options);
    const checked: Omit<SentNotice, 'id'>[] = [];
    for await (const notice of notices) {
      const index = checked.length;
      const own = optionsOf(notice, index);
      checked.push({ notice: readNotice(notice, `notices[${index}]`), options: own });
    }
    return this.#queue(checked);
  }

  sendLater(
    notice: NoticeOf<Templates>,
    onError: (error: unknown) => unknown,
    options: SendOptions = {},
  ): void {
    void this.send(notice, options).catch(onError);
  }

  ready(): Promise<void> {
    return this.#begin();
  }

  async get(notice: NoticeRef): Promise<NoticeView> {
    await this.#begin();
    const found = this.#find(notice);
    return {
      id: found?.id ?? (typeof notice === 'string' ? notice : ''),
      state: this.#stateOf(found),
      contacts: found?.notice.contacts.length ?? 0,
      attempts: 0,
      possiblySent: 0,
      ...(found === undefined ? {} : { template: found.notice.templateCode }),
    };
  }

  async cancel(notice: NoticeRef, options: CancelOptions = {}): Promise<CancelReport> {
    await this.#begin();
    const { releaseKey = false } = readCancelOptions(options);
    const found = this.#find(notice);
    const id = found?.id ?? (typeof notice === 'string' ? notice : '');
    const state = this.#stateOf(found);
    const answer = state === 'pending' ? 'cancelled' : state;
    if (answer !== 'cancelled' || found === undefined) return { id, cancelled: false, answer };
    this.setState(id, 'cancelled');
    const key = found.options.idempotencyKey;
    const keyReleased = releaseKey && key !== undefined && this.#byKey.delete(key);
    return { id, cancelled: true, answer, ...(keyReleased ? { keyReleased } : {}) };
  }

  /** Reads and checks the list as a dry run does. */
  async import(source: ImportSource, options: ImportOptions): Promise<ImportReport> {
    await this.#begin();
    const dry = { ...options, dryRun: true };
    const read = await importThrough(readQueueOptions({}), source, dry, this.#closing.signal);
    const { batchId = newId('fake'), dryRun = false } = options;
    const report = { ...read, batch: dryRun ? read.batch : batchId, dryRun };
    this.imports.push({ options, report });
    return report;
  }

  /** There are none; the iteration ends with {@link FakeNoticeQueue.close}. */
  async *events(): AsyncGenerator<AccountEvent, void, undefined> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    yield* [];
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closing.abort();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(): Promise<void> {
    if (this.#closing.signal.aborted) {
      return Promise.reject(new NoticeQueueError('QUEUE_CLOSED'));
    }
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  }

  #queue(checked: readonly Omit<SentNotice, 'id'>[]): Receipt[] {
    return checked.map(({ notice, options }) => {
      const { idempotencyKey: key } = options;
      const contacts = notice.contacts.length;
      const earlier = key === undefined ? undefined : this.#byKey.get(key);
      if (earlier !== undefined) {
        const isSame = fingerprint(earlier.notice, '') === fingerprint(notice, '');
        if (!isSame) throw new NoticeQueueError('IDEMPOTENCY_CONFLICT');
        return { id: earlier.id, contacts, duplicate: true };
      }
      if (isTooLate(options)) {
        const issue = { field: 'options.expiresAt', problem: TOO_LATE };
        throw new InputError('NOTICE_INVALID', [issue]);
      }
      const sent = { id: newId('n'), notice, options };
      this.sent.push(sent);
      if (key !== undefined) this.#byKey.set(key, sent);
      return { id: sent.id, contacts, duplicate: false };
    });
  }

  #find(ref: NoticeRef): SentNotice | undefined {
    readRef(ref);
    return typeof ref === 'string'
      ? this.sent.find(({ id }) => id === ref)
      : this.#byKey.get(ref.idempotencyKey);
  }

  #stateOf(found: SentNotice | undefined): NoticeState {
    return found === undefined ? 'not-kept' : (this.#states.get(found.id) ?? 'pending');
  }
}

const newId = (kind: string): string => `${kind}-${randomBytes(12).toString('base64url')}`;

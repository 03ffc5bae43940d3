import { randomBytes } from 'node:crypto';
import type { ImportOf, ImportOptions, ImportReport } from '../batch/import/import-options.ts';
import type { ImportSource } from '../batch/source/open-source.ts';
import { invalidList } from '../batch/source/describe-columns.ts';
import { NoticeQueueError, type ErrorCode } from '../contracts/errors.ts';
import { readNotice, type NoticeOf, type Receipt } from '../contracts/notice.ts';
import {
  isTooLate,
  readOptions,
  type SendManyOptions,
  type SendOptions,
} from '../contracts/send-options.ts';
import type { AccountEvent } from '../events/event.ts';
import { readEventsOptions, type EventsOptions } from '../events/follow.ts';
import { readCancelOptions, readRef } from '../notices/notice-ref.ts';
import type {
  CancelOptions,
  CancelReport,
  NoticeRef,
  NoticeState,
  NoticeView,
} from '../notices/notice-state.ts';
import { importThrough } from '../producer/import-connection.ts';
import { readSends, reportTo, type Notices } from '../producer/notice-queue.ts';
import { readQueueOptions } from '../producer/options.ts';
import { fingerprint } from '../producer/planned-job.ts';
import { conflict, tooLate, type CheckedSend } from '../producer/producer-connection.ts';

/** A notice that was sent to a {@link FakeNoticeQueue}, as it was checked: times are milliseconds since the epoch. */
export interface SentNotice extends CheckedSend {
  readonly id: string;
  readonly enqueuedAt: number;
}

export interface FakeImport {
  readonly options: ImportOptions;
  readonly report: ImportReport;
}

/**
 * A `NoticeQueue` for unit tests: it needs no Redis, refuses what the real one refuses except a list that was imported
 * before, and keeps what was sent. Nothing is sent, so a notice stays `pending` until {@link FakeNoticeQueue.setState}.
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
  #byKey: ReadonlyMap<string, SentNotice> = new Map<string, SentNotice>();
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
    const sends = await readSends(notices, options);
    this.#mustBeOpen();
    return this.#queue(sends);
  }

  sendLater(
    notice: NoticeOf<Templates>,
    onError: (error: unknown) => unknown,
    options: SendOptions = {},
  ): void {
    reportTo(onError, this.send(notice, options));
  }

  ready(): Promise<void> {
    return this.#begin();
  }

  async get(notice: NoticeRef): Promise<NoticeView> {
    await this.#begin();
    const found = this.#find(notice);
    const state = this.#stateOf(found);
    if (found === undefined || state === 'not-kept') {
      const id = found?.id ?? (typeof notice === 'string' ? notice : '');
      return { id, state, contacts: 0, attempts: 0, possiblySent: 0 };
    }
    const { id, enqueuedAt, options } = found;
    const {
      expiresAt,
      delivery = 'at-least-once',
      delay = 0,
      sendAt = enqueuedAt + delay,
    } = options;
    const { templateCode: template, contacts } = found.notice;
    const isDelayed = sendAt > Date.now();
    return {
      id,
      state,
      ...(state !== 'pending'
        ? {}
        : { pending: isDelayed ? { reason: 'delayed', until: sendAt } : { reason: 'waiting' } }),
      template,
      contacts: contacts.length,
      delivery,
      attempts: 0,
      possiblySent: 0,
      enqueuedAt,
      ...(expiresAt === undefined ? {} : { expiresAt }),
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
    const others = new Map(this.#byKey);
    const keyReleased = releaseKey && others.delete(found.options.idempotencyKey ?? '');
    this.#byKey = others;
    return { id, cancelled: true, answer, ...(keyReleased ? { keyReleased } : {}) };
  }

  /** Reads and checks the list as a dry run does; lists are not compared. */
  async import(source: ImportSource, options: ImportOf<Templates>): Promise<ImportReport> {
    await this.#begin();
    const dry = { ...options, dryRun: true };
    const read = await importThrough(readQueueOptions({}), source, dry, this.#closing.signal);
    const { batchId = newId('fake'), dryRun = false } = options;
    if (read.problem !== undefined && !dryRun) throw invalidList(read.problem);
    const report = { ...read, batch: dryRun ? read.batch : batchId, dryRun };
    this.imports.push({ options, report });
    return report;
  }

  /** There are none; the iteration ends with {@link FakeNoticeQueue.close}. */
  events(options: EventsOptions = {}): AsyncGenerator<AccountEvent, void, undefined> {
    this.#mustBeOpen();
    const { signal = this.#closing.signal } = readEventsOptions(options);
    return noEvents([signal, this.#closing.signal]);
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
    const failure = this.#closing.signal.aborted ? closed() : this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  }

  #mustBeOpen(): void {
    if (this.#closing.signal.aborted) throw closed();
  }

  /** Checks all before it keeps one. */
  #queue(sends: readonly CheckedSend[]): Receipt[] {
    const byKey = new Map(this.#byKey);
    const queued = sends.map(({ notice, options }, index) => {
      // No key is empty.
      const { idempotencyKey: key = '' } = options;
      const earlier = byKey.get(key);
      if (earlier === undefined) {
        if (isTooLate(options)) throw tooLate(index, sends.length);
        const sent = { id: newId('n'), notice, options, enqueuedAt: Date.now() };
        if (key !== '') byKey.set(key, sent);
        return { sent, duplicate: false };
      }
      if (fingerprint(earlier.notice, '') !== fingerprint(notice, '')) {
        throw conflict(index, sends.length, 'nothing was queued');
      }
      return { sent: earlier, duplicate: true };
    });
    this.#byKey = byKey;
    this.sent.push(...queued.flatMap(({ sent, duplicate }) => (duplicate ? [] : [sent])));
    return queued.map(({ sent: { id, notice }, duplicate }) => ({
      id,
      contacts: notice.contacts.length,
      duplicate,
    }));
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

const closed = () => new NoticeQueueError('QUEUE_CLOSED');
const newId = (kind: string): string => `${kind}-${randomBytes(12).toString('base64url')}`;

async function* noEvents(
  ends: readonly AbortSignal[],
): AsyncGenerator<AccountEvent, void, undefined> {
  await new Promise<void>((resolve) => {
    const end = () => resolve();
    for (const signal of ends) signal.addEventListener('abort', end, { once: true });
    if (ends.some(({ aborted }) => aborted)) end();
  });
  yield* [];
}

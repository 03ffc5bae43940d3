import { pause } from '../../src/async/cancellation.ts';
import type { CancelSignal } from '../../src/contracts/token.ts';
import type { Permit, RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { RequestGuard, SendAnswer } from '../../src/service/send-call.ts';

/** A second request for which there was no permit asks for one again after this time. */
const PERMIT_AGAIN_MS = 100;

/** Takes a permit for a job of one lane (see RateLimiter). */
export type TakePermit = (cancel: CancelSignal) => ReturnType<RateLimiter['take']>;

/** Nothing was sent, and no notice is to blame: the job is requeued without spending an attempt. */
export class NotStarted extends Error {}

/**
 * Forbids a request of an attempt once the worker stops or the job's lock may be lost. Both are checked
 * right before each request, after every wait, also for a connection.
 *
 * A permit is for one request: the second request of an attempt takes another one, and so does a
 * request whose permit expired while it waited for its token.
 */
export class AttemptGuard implements RequestGuard {
  readonly cancel: CancelSignal;
  readonly #mayBegin: () => boolean;
  readonly #recordIntent: (() => Promise<boolean>) | undefined;
  readonly #take: TakePermit;
  #permit: Permit | undefined;
  /** Monotonic time before the last request; undefined where none was allowed. */
  requestedAt: number | undefined;
  /** Whether it has stopped a request that waited: nothing of it was sent. */
  wasStopped = false;
  /** What is known of a refused request after which the call ended with an error; undefined where none did. */
  refused: SendAnswer | undefined;

  /**
   * @param permit for the first request; used or released by the guard
   * @param mayBegin whether a request may begin now: the lock of the job is ours, its deadline has not passed
   * @param recordIntent called last before each request; false forbids it
   */
  constructor(
    cancel: CancelSignal,
    permit: Permit,
    take: TakePermit,
    mayBegin: () => boolean,
    recordIntent: (() => Promise<boolean>) | undefined,
  ) {
    this.cancel = cancel;
    this.#permit = permit;
    this.#take = take;
    this.#mayBegin = () => !cancel.aborted && mayBegin();
    this.#recordIntent = recordIntent;
  }

  /**
   * @returns undefined where nothing has to be waited for
   * @throws NotStarted
   */
  check(cancel: CancelSignal): Promise<void> | undefined {
    this.#requireStart();
    if (this.#recordIntent !== undefined || this.#permit?.use() !== true) {
      return this.#checkAll(cancel);
    }
    this.requestedAt = performance.now();
    return undefined;
  }

  /** Without waiting, after the last wait: for a connection, or for another try at a request that was not sent. */
  mayStart(): boolean {
    this.wasStopped ||= !this.#mayBegin();
    return !this.wasStopped;
  }

  noteRefused(answer: SendAnswer): void {
    this.refused = answer;
  }

  release(): void {
    this.#permit?.release();
  }

  async #checkAll(cancel: CancelSignal): Promise<void> {
    if (this.#permit?.use() !== true) {
      await this.#takePermit(cancel);
      this.#requireStart();
    }
    if (this.#recordIntent !== undefined) {
      if (!(await this.#recordIntent())) throw new NotStarted();
      this.#requireStart();
    }
    this.requestedAt = performance.now();
  }

  /** For a second request again until the time of the call is over: its token was issued for it. */
  async #takePermit(cancel: CancelSignal): Promise<void> {
    for (;;) {
      this.#permit = await this.#take(cancel);
      if (this.#permit?.use() === true) return;
      if (this.requestedAt === undefined || cancel.aborted) throw new NotStarted();
      await pause(PERMIT_AGAIN_MS, cancel);
    }
  }

  #requireStart(): void {
    if (!this.#mayBegin()) throw new NotStarted();
  }
}

import { pause } from '../../src/async/cancellation.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { CancelSignal, TokenSource } from '../../src/contracts/token.ts';
import { isProbe, type PutOff } from '../../src/fleet/hold/hold-gate.ts';
import type { Permit, RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { SendCallOptions } from '../../src/service/client.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import type { RequestGuard, SendAnswer } from '../../src/service/send-call.ts';
import type { SharedToken } from '../../src/token/shared-token.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Attempted, Entered, GateJob } from './template-refusals.ts';
import type { SendGate } from './send-gate.ts';

export interface AttemptContext {
  readonly tokens: Pick<SharedToken, 'get' | 'renew' | 'renewalHelped'>;
  readonly gate: Pick<SendGate, 'enter' | 'isInHours' | 'leave' | 'restOf'>;
  /** Of the lane of the job. */
  readonly rateLimit: { readonly take: (cancel: CancelSignal) => ReturnType<RateLimiter['take']> };
  readonly log: AttemptLog;
  readonly sendDeadlineMs: number;
  /** Aborted when the worker stops: what has not been sent is requeued. */
  readonly stopping: CancelSignal;
}

export interface Entry extends Entered {
  readonly permit: Permit;
}

/**
 * Gate and permit: whether a job may be sent now.
 * @returns how long the job is put off because its template is held, or undefined where it is requeued
 */
export async function enter(
  job: GateJob,
  { gate, rateLimit, stopping }: AttemptContext,
): Promise<Entry | PutOff | undefined> {
  if (stopping.aborted) return undefined;
  const entered = await gate.enter(job);
  if (entered === undefined || 'putOffMs' in entered) return entered;
  const permit = await rateLimit.take(stopping);
  if (permit !== undefined) return { ...entered, permit };
  await gate.leave(job, entered, { outcome: undefined });
  return undefined;
}

/** Returns what {@link enter} has given to a job for which no request is made. */
export async function leaveUnsent(
  job: GateJob,
  entry: Entry,
  { gate }: AttemptContext,
): Promise<void> {
  entry.permit.release();
  await gate.leave(job, entry, { outcome: undefined });
}

/** One attempt: its send call, and what allows its requests. */
export interface AttemptOptions {
  readonly job: GateJob;
  readonly send: (tokens: TokenSource, options: SendCallOptions) => Promise<SendAnswer>;
  /** At-most-once: each request gets a connection of its own. */
  readonly isOnce: boolean;
  /** Whether a request may begin now: the lock of the job is ours, its deadline has not passed. */
  readonly mayBegin: () => boolean;
  /** Called last before each request; false forbids it. */
  readonly recordIntent?: (() => Promise<boolean>) | undefined;
}

/** Sends and decides: one request, or two when the token was renewed; the outcome by the table and by the gate. */
export async function runAttempt(
  options: AttemptOptions,
  entry: Entry,
  context: AttemptContext,
): Promise<Attempted> {
  const { job } = options;
  const guard = new AttemptGuard(options, entry.permit, context);
  // A kept connection that has died says nothing about the service.
  const ownConnection = options.isOnce || isProbe(entry);
  const { outcome, answer } = await sendGuarded(options, ownConnection, guard, context);
  const { requestedAt } = guard;
  return {
    outcome: await context.gate.leave(job, entry, { outcome, answer, requestedAt }),
    answer,
  };
}

async function sendGuarded(
  { send }: AttemptOptions,
  ownConnection: boolean,
  guard: AttemptGuard,
  { tokens, log, sendDeadlineMs: deadlineMs, stopping }: AttemptContext,
): Promise<Attempted> {
  try {
    const answer = await send(tokens, { deadlineMs, ownConnection, guard });
    if (guard.wasStopped) {
      return { outcome: undefined, answer: answer.refused.length > 0 ? answer : undefined };
    }
    const outcome = decideOutcome(answer);
    const [first, second] = answer.refused;
    if (
      first !== undefined &&
      second === undefined &&
      outcome.kind === 'accepted' &&
      answer.tokenId !== first.tokenId
    ) {
      await tokens.renewalHelped(first).catch((error: unknown) => log.trouble('token', error));
    }
    return { outcome, answer };
  } catch (error) {
    const { refused: answer } = guard;
    const mayBeSent = guard.requestedAt !== undefined;
    const isOurs = error instanceof NoticeQueueError;
    // A stop explains an error only where nothing can have been sent.
    const isStopped = stopping.aborted && (isOurs || !mayBeSent);
    if (isStopped || error instanceof NotStarted) return { outcome: undefined, answer };
    if (isOurs) return { outcome: outcomeOfTokenError(error), answer };
    log.trouble('attempt', error);
    const code = 'INTERNAL_ERROR';
    return mayBeSent
      ? { outcome: { kind: 'unknown', code }, answer }
      : { outcome: { kind: 'retry', code, counted: true } };
  } finally {
    guard.release();
  }
}

/** What a failed wait for a token means: nothing was sent. */
function outcomeOfTokenError(error: NoticeQueueError): Outcome {
  if (error instanceof TokenRefusedError) {
    const { hold, refusalCode: code, retryInMs } = error;
    const refused = { kind: 'hold', hold, code, scope: 'all' } as const;
    // Another worker may have another key pair: nothing but the probes says how long all are refused.
    return hold === 'credentials' ? refused : { ...refused, forMs: Math.max(1, retryInMs) };
  }
  return { kind: 'retry', code: error.code, counted: false };
}

/** A second request for which there was no permit asks for one again after this time. */
const PERMIT_AGAIN_MS = 100;

/** Nothing was sent, and no notice is to blame: the job is requeued without spending an attempt. */
class NotStarted extends Error {}

/**
 * Forbids a request of an attempt once the worker stops or the job's lock may be lost. Both are checked
 * right before each request, after every wait, also for a connection.
 *
 * A permit is for one request: the second request of an attempt takes another one, and so does a
 * request whose permit expired while it waited for its token.
 */
class AttemptGuard implements RequestGuard {
  readonly cancel: CancelSignal;
  readonly #options: AttemptOptions;
  readonly #context: AttemptContext;
  #permit: Permit | undefined;
  /** Monotonic time before the last request; undefined where none was allowed. */
  requestedAt: number | undefined;
  /** Whether it has stopped a request that waited: nothing of it was sent. */
  wasStopped = false;
  /** What is known of a refused request after which the call ended with an error; undefined where none did. */
  refused: SendAnswer | undefined;

  /** @param permit for the first request; used or released by the guard */
  constructor(options: AttemptOptions, permit: Permit, context: AttemptContext) {
    this.cancel = context.stopping;
    this.#options = options;
    this.#context = context;
    this.#permit = permit;
  }

  #mayBegin(): boolean {
    const { job, mayBegin } = this.#options;
    // A permit may have come after the last hour.
    return !this.cancel.aborted && mayBegin() && this.#context.gate.isInHours(job.template);
  }

  /**
   * @returns undefined where nothing has to be waited for
   * @throws NotStarted
   */
  check(cancel: CancelSignal): Promise<void> | undefined {
    this.#requireStart();
    if (this.#options.recordIntent !== undefined || this.#permit?.use() !== true) {
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
    const { recordIntent } = this.#options;
    if (recordIntent !== undefined) {
      if (!(await recordIntent())) throw new NotStarted();
      this.#requireStart();
    }
    this.requestedAt = performance.now();
  }

  /** For a second request again until the time of the call is over: its token was issued for it. */
  async #takePermit(cancel: CancelSignal): Promise<void> {
    for (;;) {
      this.#permit = await this.#context.rateLimit.take(cancel);
      if (this.#permit?.use() === true) return;
      if (this.requestedAt === undefined || cancel.aborted) throw new NotStarted();
      await pause(PERMIT_AGAIN_MS, cancel);
    }
  }

  #requireStart(): void {
    if (!this.#mayBegin()) throw new NotStarted();
  }
}

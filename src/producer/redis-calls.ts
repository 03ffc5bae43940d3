import { NoticeQueueError } from '../contracts/errors.ts';
import { reopen, type RedisClient, inOneWrite } from '../redis/connect.ts';
import {
  isConnectionLost,
  isProgramError,
  redisErrorCode,
  redisFailure,
  replyCode,
} from '../redis/failure.ts';

/**
 * Most work that is written and not yet answered, in the unit of `weight`. Redis answers some thousand
 * jobs a second, so that what is written is answered long before its time limit.
 */
const MAX_WRITTEN = 1_000;

const REPEAT_PAUSE_MS = 100;

/** Ticks of the time limit. */
const TICKS = 10;

export interface CallLimits {
  /** How long Redis may answer nothing. */
  readonly timeoutMs: number;
  /** How long after it was written first a call may be written again. */
  readonly repeatWithinMs: number;
}

/** What a call may queue: `more` where a part of what the caller adds is queued already, by earlier calls. */
type Queues = 'nothing' | 'notices' | 'more';

/** One call, from its start to its end. */
interface Call {
  readonly weight: number;
  readonly queues: Queues;
  readonly startTick: number;
  readonly command: () => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** When it was written first. */
  writtenAt: number | undefined;
  /** How often it was written: the answer to an earlier one is ignored. */
  writes: number;
}

/**
 * The calls of a producer to Redis, each of which must have the same effect when it is made twice.
 *
 * A call is `waiting` for the connection, or until less than {@link MAX_WRITTEN} is written; then
 * `written`; then it ends with its answer. If the connection is lost in between, the reply may be lost,
 * too: the call is `waiting` again, before the others, and is written again. The same where Redis has lost a script and
 * then loses it once more, after the client has sent its text. The client itself repeats nothing else: it would do so
 * without any limit of time.
 *
 * Time limit: a call ends with QUEUE_UNAVAILABLE when Redis has answered nothing at all for `timeoutMs`
 * since the call was made. So it does not matter how many calls wait before it. The time is counted in
 * ticks, and a late tick counts as one: while this process is busy, the answers that have arrived are not
 * read, which is not Redis' fault.
 *
 * When the time of a call is over, the connection counts as dead and is reopened. The client's own limit of silence
 * would not do: it closes the connection of a process that was busy, with the answers that have arrived on it.
 */
export class RedisCalls {
  readonly #client: RedisClient;
  readonly #limits: CallLimits;
  readonly #waiting = new Set<Call>();
  /** Waiting, and written before: their connection was lost. */
  readonly #again = new Set<Call>();
  readonly #written = new Set<Call>();
  #writtenWeight = 0;
  #ticks = 0;
  /** Of the last answer. */
  #answerTick = 0;
  /** When the connection was made on which the client then introduces itself. */
  #connectTick = 0;
  #ticking: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** The last connection error; undefined while connected. */
  #lastError: Error | undefined;

  constructor(client: RedisClient, limits: CallLimits) {
    this.#client = client;
    this.#limits = limits;
    client.on('connect', () => {
      this.#connectTick = this.#ticks;
    });
    client.on('ready', () => {
      this.#lastError = undefined;
      this.#writeNext();
    });
    client.on('close', () => {
      for (const call of this.#written) this.#repeat(call);
    });
  }

  /** Notes a connection error; it is part of the message of calls that find no connection in time. */
  noteError(error: Error): void {
    this.#lastError = error;
  }

  /**
   * Makes a call.
   *
   * @param command writes it; must have the same effect when repeated
   * @param queues what it may queue, for the message of its error
   * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED
   */
  run<Result>(
    command: () => Promise<Result>,
    weight = 1,
    queues: Queues = 'notices',
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({
        weight,
        queues,
        startTick: this.#ticks,
        command,
        resolve: resolve as (result: unknown) => void,
        reject,
        writtenAt: undefined,
        writes: 0,
      });
      this.#ticking ??= setInterval(() => this.#tick(), this.#limits.timeoutMs / TICKS);
      this.#writeNext();
    });
  }

  /** Writes what waits, in order, as far as there is room. */
  #writeNext(): void {
    if (this.#client.status !== 'ready' || this.#pause !== undefined) return;
    if (this.#again.size + this.#waiting.size > 1) inOneWrite(this.#client);
    for (const line of [this.#again, this.#waiting]) {
      for (const call of line) {
        const room = MAX_WRITTEN - this.#writtenWeight;
        if (call.weight > room && this.#written.size > 0) return;
        line.delete(call);
        this.#write(call);
      }
    }
  }

  #write(call: Call): void {
    const now = performance.now();
    call.writtenAt ??= now;
    if (now - call.writtenAt > this.#limits.repeatWithinMs) {
      this.#end(call);
      call.reject(this.#timedOut(call));
      return;
    }
    call.writes += 1;
    const write = call.writes;
    this.#written.add(call);
    this.#writtenWeight += call.weight;
    /** False for the answer to an earlier write, or after the end. */
    const isUnderWay = () => call.writes === write && this.#written.has(call);
    const answered = (end: () => void) => {
      if (!isUnderWay()) return;
      this.#answerTick = this.#ticks;
      this.#end(call);
      end();
      // Many in one write, instead of one for each answer.
      if (this.#writtenWeight <= MAX_WRITTEN / 2) this.#writeNext();
    };
    call.command().then(
      (result) => answered(() => call.resolve(result)),
      (error: unknown) => {
        if (!isConnectionLost(error) && replyCode(error) !== 'NOSCRIPT') {
          answered(() => call.reject(refusalOf(error, write > 1 && call.queues !== 'nothing')));
        } else if (isUnderWay()) this.#repeat(call);
      },
    );
  }

  /** Makes a written call waiting again, after a pause. */
  #repeat(call: Call): void {
    this.#unwrite(call);
    this.#again.add(call);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#writeNext();
    }, REPEAT_PAUSE_MS);
  }

  #unwrite(call: Call): void {
    if (this.#written.delete(call)) this.#writtenWeight -= call.weight;
  }

  /** Takes a call from wherever it is. */
  #end(call: Call): void {
    this.#unwrite(call);
    this.#again.delete(call);
    this.#waiting.delete(call);
    if (this.#written.size + this.#again.size + this.#waiting.size > 0) return;
    clearInterval(this.#ticking);
    clearTimeout(this.#pause);
    this.#ticking = this.#pause = undefined;
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks - this.#answerTick <= TICKS) return;
    const isDead = this.#isDead();
    for (const line of [this.#written, this.#again, this.#waiting]) {
      for (const call of line) {
        // More than so many, because the first tick may come right after the start.
        if (this.#ticks - call.startTick <= TICKS) continue;
        this.#end(call);
        call.reject(this.#timedOut(call));
        if (isDead) reopen(this.#client);
      }
    }
    this.#writeNext();
  }

  /** Of a connection without an answer. A new one has twice the time limit until it is ready. */
  #isDead(): boolean {
    const { status } = this.#client;
    return (
      status === 'ready' || (status === 'connect' && this.#ticks - this.#connectTick > 2 * TICKS)
    );
  }

  /** The error of a call whose time is over. */
  #timedOut({ writtenAt, queues }: Call): NoticeQueueError {
    const isAway = this.#client.status !== 'ready';
    if (isAway && writtenAt === undefined && !isProgramError(this.#lastError)) {
      const failure = redisFailure(this.#lastError);
      if (failure.code === 'QUEUE_REFUSED') return failure;
    }
    const ms = this.#limits.timeoutMs;
    const code = this.#lastError === undefined ? 'Error' : redisErrorCode(this.#lastError);
    const reason = code === 'Error' ? '' : ` (${code})`;
    const what = isAway
      ? `No connection to Redis within ${ms} ms${reason}`
      : `Redis did not answer within ${ms} ms`;
    const queued =
      writtenAt !== undefined && queues !== 'nothing'
        ? 'the notice may or may not have been queued'
        : queues === 'more'
          ? 'a part was queued'
          : 'nothing was queued';
    return new NoticeQueueError('QUEUE_UNAVAILABLE', `${what}; ${queued}.`);
  }
}

/**
 * The error of a call that Redis has refused, or that has met a mistake in this program: then that mistake. Where an
 * earlier write of it has lost its reply and may have queued notices, the refusal does not tell that nothing was done.
 */
function refusalOf(error: unknown, mayBeQueued: boolean): unknown {
  let failure: NoticeQueueError;
  try {
    failure = redisFailure(error);
  } catch (mistake) {
    return mistake;
  }
  if (!mayBeQueued || failure.code === 'QUEUE_UNAVAILABLE') return failure;
  return new NoticeQueueError(
    'QUEUE_UNAVAILABLE',
    `The connection to Redis was lost, and Redis refused the repetition (${redisErrorCode(error)}); the notice may or may not have been queued.`,
  );
}

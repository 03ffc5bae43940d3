import {
  Job,
  Worker,
  type JobJson,
  type KeepJobs,
  type Processor,
  type WorkerOptions,
} from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import { settleWithRetry } from '../../src/async/repeat.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import type { LaneName } from '../../src/contracts/outcome.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { isProgramError, isRefusedLastingly } from '../../src/redis/failure.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { defineScript } from '../../src/redis/script.ts';
import type { InFlight } from './in-flight.ts';
import { adaptBackend, repairActiveJobs } from './bull-backend.ts';

/**
 * Extends the lock of a job as BullMQ does, or takes it again where it has ended and the job is still in this run:
 * BullMQ alone would run it anew after each time that Redis was away for longer than a lock.
 *
 * KEYS: the job, its lock. ARGV: token of the lock, its duration, when the run was fetched, stalls before it.
 */
const keepLock = defineScript({
  name: 'keep the lock of a job',
  lua: `
local lock = redis.call('GET', KEYS[2])
if not lock then
  local at, stalls, ended = unpack(redis.call('HMGET', KEYS[1], 'processedOn', 'stc', 'finishedOn'))
  if ended or at ~= ARGV[3] or (stalls or '0') ~= ARGV[4] then return 0 end
elseif lock ~= ARGV[1] then
  return 0
end
alsoWhenFull()
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** The next job, where BullMQ fetched one with the move. */
type Moved = Awaited<ReturnType<Job['moveToCompleted']>>;

/**
 * Appends the event of an accepted notice; absent where no events are kept. Its command is sent at once, before the one
 * that completes the job, and has the same effect on listeners when it is repeated.
 * @param lockToken where it is appended only while the lock of the job has this token
 * @returns whether it was appended
 */
export type AnnounceAccepted = (job: string, lockToken?: string) => Promise<boolean>;

interface Result {
  readonly outcome?: unknown;
}

/** One of the two queues from which a worker process takes jobs. */
export interface Lane {
  readonly name: LaneName;
  readonly queueName: string;
  readonly concurrency: number;
  /** How many completed and failed jobs are kept, and how long. */
  readonly keepDone: KeepJobs;
  readonly keepFailed: KeepJobs;
}

/** What a BullMQ worker is built with, and its jobs end with. */
export interface SendWorkerOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly lane: Lane;
  readonly settings: Pick<
    WorkerConfig,
    'attempts' | 'backoffBaseMs' | 'backoffCapMs' | 'lockDurationMs' | 'stalledIntervalMs'
  >;
  readonly inFlight: InFlight;
  /** The clock of Redis, in milliseconds since the epoch. Default: the wall clock. */
  readonly now?: () => number;
  readonly announce?: AnnounceAccepted | undefined;
  /** Removes what is remembered of a job that has ended. */
  readonly forget?: (job: string) => Promise<void>;
}

/** A worker that could not fetch a job or append an event, because Redis refuses writes, tries again this often. */
const FETCH_AGAIN_MS = 200;

/**
 * BullMQ's worker, with jobs that are moved by {@link SendJob}, and a pause after a fetch that failed:
 * BullMQ would repeat it at once, thousands of times a second.
 */
export class SendWorker extends Worker {
  readonly built: SendWorkerOptions;
  /**
   * When the last renewal of locks was sent, by the monotonic clock. Redis extends a lock at some moment
   * between this and its reply, so this is when the time of the lock surely had not started yet.
   */
  renewalSentAt = -Infinity;

  constructor(name: string, run: Processor, options: WorkerOptions, built: SendWorkerOptions) {
    super(name, run, options);
    this.built = built;
    const { now = Date.now, redis } = built;
    adaptBackend(this.backend, now, () => repairActiveJobs(redis, this.toKey('')));
  }

  protected override get Job(): typeof Job {
    // Its type parameters are open in BullMQ's declaration; ours are BullMQ's defaults.
    return SendJob as typeof Job;
  }

  /** A job with fields that cannot be read runs with the data null; BullMQ would leave it active for ever. */
  protected override createJob(json: JobJson, id: string): Job {
    try {
      return super.createJob(json, id);
    } catch {
      const job = super.createJob({ ...json, data: 'null' }, id);
      if (job instanceof SendJob) job.isUnreadable = true;
      return job;
    }
  }

  override extendJobLocks(
    ...renewal: Parameters<Worker['extendJobLocks']>
  ): ReturnType<Worker['extendJobLocks']> {
    this.renewalSentAt = performance.now();
    return super.extendJobLocks(...renewal);
  }

  /**
   * Ends what keeps the process alive where `close` waits for a Redis that is away: the timer of the locks,
   * that of the check for stalled jobs, and the blocking connection with its command. Nothing may be under way.
   */
  async abandon(): Promise<void> {
    await Promise.all([this.lockManager.close(), this.pause(true)]);
    const client = await this.backend.blockingClient;
    // A connection that was disconnected while it waited to reconnect never ends: it does so as it connects.
    if (client?.status === 'reconnecting') {
      const ended = client.connect().catch(() => {});
      client.disconnect();
      await ended;
    }
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await pause(FETCH_AGAIN_MS);
      throw error;
    }
  }
}

/**
 * A job whose end is recorded once Redis takes it.
 *
 * BullMQ stops renewing the lock of a job before it records the end of its run, and makes a failed
 * attempt of any error of Redis except a lost connection (NOREPLICAS, READONLY, MISCONF, OOM, ...): a
 * notice that was sent would be sent again. So each move of a job goes through these states:
 *
 * - moving -> moved: Redis has taken it. BullMQ learns only this.
 * - moving -> moving: Redis refused it or is away. After a pause the lock is extended and the move
 *   repeated; also where the lock has ended, as long as no other run has started.
 * - moving -> lost: another run has the job, or the move can never succeed. That run counts this one as
 *   possibly sent.
 */
export class SendJob extends Job {
  /** Fields of it in Redis cannot be read. */
  isUnreadable = false;
  /** Something is remembered of it until it ends (src/fleet/job-history.ts). */
  hasHistory = false;
  #isLost = false;

  /** Of a notice that was not accepted there is an entry by now (src/notices/ended.ts): its job is removed. */
  override moveToCompleted(result: unknown, token: string, fetchNext?: boolean): Promise<Moved> {
    const isAccepted = (result as Result | null)?.outcome === 'accepted';
    if (!isAccepted) this.opts.removeOnComplete = true;
    return this.#end(true, isAccepted, token, () =>
      super.moveToCompleted(result, token, fetchNext),
    );
  }

  override async moveToFailed(error: Error, token: string, fetchNext?: boolean): Promise<Moved> {
    // BullMQ reports the error of a move as a failed attempt.
    if (this.#isLost) throw error;
    const isLast =
      error.name === 'UnrecoverableError' || this.attemptsMade + 1 >= (this.opts.attempts ?? 1);
    return this.#end(isLast, false, token, () => super.moveToFailed(error, token, fetchNext));
  }

  override async moveToWait(token?: string): Promise<number> {
    const restMs = (await this.#move(token, () => super.moveToWait(token))) ?? 0;
    // BullMQ wakes no idle worker for a job with a priority that is returned: it would wait for the end of a block.
    if (this.priority > 0) {
      const { redis } = this.#built;
      await redis.zadd(this.toKey('marker'), 0, '0').catch((error: unknown) => this.#report(error));
    }
    return restMs;
  }

  override moveToDelayed(timestamp: number, token?: string): Promise<void> {
    return this.#move(token, () => super.moveToDelayed(timestamp, token));
  }

  /** Moves the job at the end of its run. @param isEnd false where another attempt may follow */
  async #end(
    isEnd: boolean,
    isAccepted: boolean,
    token: string,
    move: () => Promise<Moved>,
  ): Promise<Moved> {
    const { announce, inFlight, forget } = this.#built;
    try {
      if (!isAccepted || announce === undefined) return await this.#move(token, move);
      const announceEnd = (lock?: string) => announce(this.id ?? '', lock);
      return await this.#announceAndMove(announceEnd, token, move);
    } finally {
      if (isEnd && this.hasHistory && !this.#isLost) {
        // A history that is left says nothing about another job: no run of this one follows.
        await forget?.(this.id ?? '').catch((failure: unknown) => this.#report(failure));
      }
      inFlight.recorded(this);
      // BullMQ's set of jobs under way keeps jobs that have ended from being collected soon (src/service/http/connections.ts).
      this.data = undefined;
    }
  }

  /**
   * Sends the event right before each try to move the job, until Redis has taken it: a job that Redis has
   * ended has its event, also when this process dies. A worker that has lost the job appends none. An event that Redis
   * refuses lastingly, although it takes the move, is left out.
   */
  async #announceAndMove(
    announce: (lockToken?: string) => Promise<boolean>,
    token: string,
    move: () => Promise<Moved>,
  ): Promise<Moved> {
    const event = { isRefused: false };
    const taken = (failure: unknown) => {
      this.#report(failure);
      event.isRefused = isRefusedLastingly(failure);
      // An event that can never be taken must not stop the sends.
      return isProgramError(failure);
    };
    const send = (lockToken?: string) => {
      event.isRefused = false;
      return announce(lockToken).catch(taken);
    };
    let announced: Promise<boolean> | undefined;
    const moved = await this.#move(token, async () => {
      if (announced === undefined || !(await announced)) announced = send(token);
      return move();
    });
    // The job has ended, and its lock with it. Meanwhile no lock of the next job, which came with the move, is renewed.
    while (!this.#isLost && announced !== undefined && !(await announced) && !event.isRefused) {
      await pause(FETCH_AGAIN_MS);
      announced = send();
    }
    return moved;
  }

  /** @returns undefined when the job is no longer ours */
  async #move<Result>(
    token: string | undefined,
    move: () => Promise<Result>,
  ): Promise<Result | undefined> {
    let tries = 0;
    try {
      return await settleWithRetry(
        async () => {
          if (tries++ > 0) await this.#keepLock(token);
          try {
            return await move();
          } catch (error) {
            if (!isNotOurs(error) || !(await this.#keepLock(token))) throw error;
            return await move();
          }
        },
        (error) => this.#report(error),
        (error) => !isNotOurs(error) && !isProgramError(error),
      );
    } catch (error) {
      this.#isLost = true;
      if (isNotOurs(error)) return undefined;
      throw error;
    }
  }

  /** @returns whether this run has the lock */
  #keepLock(token = ''): Promise<boolean> {
    const { redis, settings } = this.#built;
    const run = [token, settings.lockDurationMs, this.processedOn ?? '', this.stalledCounter];
    return keepLock(redis, [jobKeyOf(this), `${jobKeyOf(this)}:lock`], run);
  }

  #report(error: unknown): void {
    if (error instanceof Error) this.queue.emit('error', error);
  }

  get #built(): SendWorkerOptions {
    return (this.queue as unknown as SendWorker).built;
  }
}

export const jobKeyOf = ({ queueQualifiedName, id }: Job) => `${queueQualifiedName}:${id ?? ''}`;

/**
 * Whether BullMQ's script refused a move because of the state of the job: it has ended, is locked by
 * another worker, or its lock is lost. BullMQ gives such errors a number as their code.
 */
function isNotOurs(error: unknown): boolean {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'number';
}

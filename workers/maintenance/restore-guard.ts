import type { Logger } from 'pino';
import { unlessAborted, pause } from '../../src/async/cancellation.ts';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { CancelSignal } from '../../src/contracts/cancel-signal.ts';
import type { RestoreConfig } from '../../src/config/redis-config.ts';
import {
  judgeEpoch,
  type EpochLook,
  type EpochMemory,
  type RestoreVerdict,
} from '../../src/fleet/restore/epoch.ts';
import {
  holdsWorkFrom,
  keepRestored,
  memoryOf,
  readEpoch,
} from '../../src/fleet/restore/epoch-store.ts';
import { beat, endHeartbeat, type Heartbeat } from '../../src/fleet/heartbeat.ts';
import type { HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorWord } from '../../src/redis/failure.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import type { StateFile } from './state-file.ts';

/** What the guard works with. */
export interface RestoreGuardOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: RestoreConfig;
  /** What this worker says of itself right now. */
  readonly heartbeat: () => Heartbeat;
  readonly heartbeatMs: number;
  readonly file: Pick<StateFile, 'read' | 'write'> | undefined;
  readonly readiness: Pick<UnreadyReasons, 'set'>;
  /** Whatever it believed, it was of the Redis before. */
  readonly gate: Pick<HoldGate, 'forget'>;
  readonly log: Logger;
  /** Aborted when the worker stops. */
  readonly stopping: CancelSignal;
}

/**
 * Where nobody remembers, a worker that lives may: it is back at a Redis that was away within a
 * second or two, and is given so long to say that nothing is missing, or that something is.
 */
const WITNESS_MS = 3_000;
const WITNESS_EVERY_MS = 100;

/** Events of a lost connection: a cluster stays connected while one of its nodes is replaced. */
const LOST = ['close', '-node', '+node', 'node error'] as const;

/** After a check that Redis did not answer or refused. */
const AGAIN_MS = 200;

/**
 * Keeps a worker from sending out of an old copy of the queue. It makes the heartbeats, for they are
 * what is remembered (epoch.ts).
 *
 * - unsure, at first and whenever the connection to Redis was lost: nothing is fetched (at the start)
 *   or sent (later: what was fetched goes back). unsure -> sure: a heartbeat finds all that is
 *   remembered, or the look that follows is judged and acted upon. The next attempt asks at the gate,
 *   for the hint of a hold that was placed in between may come after it.
 * - sure: attempts pass, at no round trip. sure -> unsure: the connection was lost, or a heartbeat
 *   finds that something is missing.
 *
 * A Redis that looks like an old copy is held in the same step in which that is kept for all, so the
 * fleet holds it once; whoever comes later finds the event and believes it. A hold that a person has
 * lifted does not come back for the same event.
 */
export class RestoreGuard implements BackgroundService<boolean> {
  readonly #parts: RestoreGuardOptions;
  #memory: EpochMemory | undefined;
  #sure = false;
  #checking: Promise<void> | undefined;
  /** Counts losses of the connection, so that a check that spans one does not make sure. */
  #losses = 0;

  constructor(parts: RestoreGuardOptions) {
    this.#parts = parts;
  }

  /**
   * Checks before the first job is fetched, for as long as that takes.
   *
   * @returns false when the worker was told to stop meanwhile
   */
  async start(): Promise<boolean> {
    const { redis, file, stopping } = this.#parts;
    this.#memory = await file?.read();
    for (const event of LOST) redis.on(event, this.#onLost);
    redis.on('ready', this.#onReady);
    while (!this.#sure && !stopping.aborted) {
      await unlessAborted(this.check(), stopping);
      if (!this.#sure) await this.#pause(AGAIN_MS);
    }
    return this.#sure;
  }

  /** Makes a heartbeat, and judges Redis where it finds something missing. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Whether attempts may be made: Redis has all that is remembered, as far as is known. */
  async passed(): Promise<boolean> {
    if (this.#sure || this.#parts.settings.guard === 'off') return true;
    const { stopping } = this.#parts;
    if (!stopping.aborted) await unlessAborted(this.check(), stopping);
    // Who is turned away comes back at once.
    if (!this.#sure && !stopping.aborted) await this.#pause(AGAIN_MS);
    return this.#sure;
  }

  /** Follows the connection no longer. */
  stop(): void {
    const { redis } = this.#parts;
    for (const event of LOST) redis.off(event, this.#onLost);
    redis.off('ready', this.#onReady);
  }

  /** Deregisters the worker; the last one of a fleet marks a clean shutdown. */
  async deregister(): Promise<void> {
    const { redis, keys, heartbeat, heartbeatMs } = this.#parts;
    await endHeartbeat(redis, keys, heartbeat().id, heartbeatMs, this.#memory);
  }

  readonly #onLost = (): void => {
    this.#losses += 1;
    this.#sure = false;
  };

  readonly #onReady = (): void => void this.check();

  async #check(): Promise<void> {
    const { readiness, log } = this.#parts;
    try {
      for (;;) {
        const losses = this.#losses;
        if (await this.#beat()) {
          if (!this.#sure) this.#parts.gate.forget();
          this.#sure = losses === this.#losses;
          break;
        }
        this.#sure = false;
        readiness.set('copy-unchecked', true);
        if (!(await this.#judge())) break;
      }
    } catch (error) {
      log.warn({ event: 'heartbeat-trouble', code: redisErrorWord(error) });
    }
    readiness.set('copy-unchecked', !this.#sure);
  }

  async #beat(): Promise<boolean> {
    const { redis, keys, heartbeat, heartbeatMs, file } = this.#parts;
    const memory = await beat(redis, keys, heartbeat(), heartbeatMs, this.#memory);
    if (memory === undefined) return false;
    this.#memory = memory;
    await file?.write(memory);
    return true;
  }

  /** @returns false when the worker was told to stop meanwhile */
  async #judge(): Promise<boolean> {
    const { redis, keys, settings, stopping, log } = this.#parts;
    let look = await readEpoch(redis, keys);
    let verdict = await this.#verdictOn(look);
    if (settings.guard !== 'off') {
      const until = performance.now() + WITNESS_MS;
      while (needsWitness(verdict) && performance.now() < until) {
        await this.#pause(WITNESS_EVERY_MS);
        if (stopping.aborted) return false;
        look = await readEpoch(redis, keys);
        verdict = await this.#verdictOn(look);
      }
      if (verdict.kind !== 'continue') return this.#keep(look, verdict);
    }
    if (look.epoch === undefined && this.#memory !== undefined) {
      log.warn({ event: 'redis-emptied' }, 'Redis has lost everything: what waited is gone');
    }
    this.#memory = look.epoch === undefined ? undefined : memoryOf(look.epoch);
    return true;
  }

  async #verdictOn(look: EpochLook): Promise<RestoreVerdict> {
    const { redis, keys, settings } = this.#parts;
    const memory = this.#memory;
    const olderWork =
      memory !== undefined &&
      look.epoch === undefined &&
      (await holdsWorkFrom(redis, keys, memory.bornAt));
    return judgeEpoch(memory, look, settings, olderWork);
  }

  async #keep(
    look: EpochLook,
    { kind, why, copyAt, missingMs }: Exclude<RestoreVerdict, { kind: 'continue' }>,
  ): Promise<true> {
    const { redis, keys, settings, log } = this.#parts;
    const verdict = kind === 'suspect' && settings.guard === 'hold' ? 'held' : 'warned';
    const missed = this.#memory?.id ?? '';
    const after = this.#memory?.event ?? '';
    const mark = { why, copyAt, missingMs, verdict, missed, after } as const;
    const memory = await keepRestored(redis, keys, look.epoch, mark);
    if (memory !== undefined) {
      this.#memory = memory;
      log[verdict === 'held' ? 'error' : 'warn'](
        { event: 'restored', why, verdict, copyAt, missingMs: Math.round(missingMs) },
        'Redis may hold an old copy of the queue; "notices restored" says what might be sent again',
      );
    }
    return true;
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, this.#parts.stopping);
  }
}

/** Only somebody who remembers can tell these from a Redis that lacks something. */
const needsWitness = (verdict: RestoreVerdict) =>
  verdict.why === 'gap' || verdict.why === 'crashed';

import type { Logger } from 'pino';
import { pause, unlessAborted } from '../../src/async/cancellation.ts';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { RestoreConfig } from '../../src/config/config.ts';
import {
  judgeEpoch,
  type EpochReading,
  type RestoreVerdict,
  type Term,
} from '../../src/fleet/restore/epoch.ts';
import { recordRestored, readEpoch } from '../../src/fleet/restore/epoch-store.ts';
import { beat, endHeartbeat, type Heartbeat } from '../../src/fleet/heartbeat.ts';
import type { HoldGate } from '../../src/fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import type { CancelSignal } from '../../src/contracts/token.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { UnreadyReasons } from '../health/readiness.ts';
import type { StateFile } from './state-file.ts';

export interface RestoreGuardOptions {
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly settings: RestoreConfig;
  readonly heartbeat: () => Heartbeat;
  readonly heartbeatMs: number;
  readonly file: Pick<StateFile, 'read' | 'write'> | undefined;
  readonly readiness: Pick<UnreadyReasons, 'set'>;
  /** Must ask Redis again after each change of the server. */
  readonly gate: Pick<HoldGate, 'forget'>;
  readonly log: Logger;
  readonly stopping: CancelSignal;
}

/**
 * When this process does not remember the epoch, another running worker may: it reconnects to Redis within
 * a second or two. This is how long it gets to record whether something is missing.
 */
const WITNESS_MS = 3_000;
const WITNESS_EVERY_MS = 100;

/** Pause after a check that Redis did not answer or refused. */
const RETRY_MS = 200;

/**
 * Prevents a worker from sending from an old copy of the queue. It makes the heartbeats, because they are
 * what workers remember (epoch.ts).
 *
 * - unverified, at the start and after each loss of the connection: no job is fetched (at the start) or
 *   sent (later: fetched jobs are requeued). unverified -> verified: a heartbeat finds all that is
 *   remembered, or the reading that follows was handled. The next attempt then asks Redis at the hold
 *   gate, because the hint of a hold that was placed in between may arrive later.
 * - verified: attempts pass without a round trip. verified -> unverified: the connection was lost, or a
 *   heartbeat finds something missing.
 *
 * The script that records an old copy also places the hold, so the fleet holds the queue once; other
 * workers find the recorded event and accept it. A hold that a person lifted is not placed again for the
 * same event.
 */
export class RestoreGuard implements BackgroundService<boolean> {
  readonly #options: RestoreGuardOptions;
  #memory: Term | undefined;
  #verified = false;
  #checking: Promise<void> | undefined;
  /** Set when the worker deregisters: a heartbeat after that would register it again. */
  #hasEnded = false;
  /** Counts lost connections: a check during which one was lost verifies nothing. */
  #losses = 0;

  constructor(options: RestoreGuardOptions) {
    this.#options = options;
  }

  /**
   * Checks before the first job is fetched, until Redis is verified.
   * @returns false when the worker is stopped first
   */
  async start(): Promise<boolean> {
    const { redis, file, stopping } = this.#options;
    this.#memory = await file?.read();
    redis.on('close', this.#onLost);
    redis.on('ready', this.#onReady);
    while (!this.#verified && !stopping.aborted) {
      await unlessAborted(this.check(), stopping);
      if (!this.#verified) await this.#pause(RETRY_MS);
    }
    return this.#verified;
  }

  /** Makes a heartbeat, and examines Redis when something is missing. Concurrent calls share one. None after the end. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Whether attempts may be made: Redis has all that is remembered. A promise only where it must be checked. */
  passed(): boolean | Promise<boolean> {
    return this.#verified || this.#options.settings.guard === 'off' || this.#verify();
  }

  async #verify(): Promise<boolean> {
    const { stopping } = this.#options;
    if (!stopping.aborted) await unlessAborted(this.check(), stopping);
    // A rejected job is requeued at once: do not let it spin.
    if (!this.#verified && !stopping.aborted) await this.#pause(RETRY_MS);
    return this.#verified;
  }

  stop(): void {
    const { redis } = this.#options;
    redis.off('close', this.#onLost);
    redis.off('ready', this.#onReady);
  }

  /** Deregisters the worker; the last one marks a clean shutdown. */
  async deregister(): Promise<void> {
    this.#hasEnded = true;
    const { redis, keys, heartbeat, heartbeatMs } = this.#options;
    await endHeartbeat(redis, keys, heartbeat().id, heartbeatMs, this.#memory);
  }

  readonly #onLost = (): void => {
    this.#losses += 1;
    this.#verified = false;
  };

  readonly #onReady = (): void => void this.check();

  async #check(): Promise<void> {
    const { readiness, log } = this.#options;
    try {
      while (!this.#hasEnded) {
        const losses = this.#losses;
        if (await this.#beat()) {
          if (!this.#verified) this.#options.gate.forget();
          this.#verified = losses === this.#losses;
          break;
        }
        this.#verified = false;
        readiness.set('copy-unchecked', true);
        if (!(await this.#judge())) break;
      }
    } catch (error) {
      log.warn({ event: 'heartbeat-trouble', ...redisErrorFields(error) });
    }
    readiness.set('copy-unchecked', !this.#verified);
  }

  async #beat(): Promise<boolean> {
    const { redis, keys, heartbeat, heartbeatMs, file } = this.#options;
    const memory = await beat(redis, keys, heartbeat(), heartbeatMs, this.#memory);
    if (memory === undefined) return false;
    this.#memory = memory;
    await file?.write(memory);
    return true;
  }

  /** @returns false where the worker is stopped */
  async #judge(): Promise<boolean> {
    const { redis, keys, settings, stopping, log } = this.#options;
    const memory = this.#memory;
    const look = async () => {
      const reading = await readEpoch(redis, keys);
      return { reading, verdict: judgeEpoch(memory, reading, settings) };
    };
    let { reading, verdict } = await look();
    if (settings.guard !== 'off') {
      const until = performance.now() + WITNESS_MS;
      // Only a process that remembers can distinguish a restart or a gap from a Redis that lacks something.
      while (
        (verdict.kind === 'continue' ? verdict.isRestart === true : verdict.why === 'gap') &&
        performance.now() < until
      ) {
        await this.#pause(WITNESS_EVERY_MS);
        if (stopping.aborted) return false;
        ({ reading, verdict } = await look());
      }
      if (verdict.kind !== 'continue') return this.#record(reading, verdict);
    }
    if (reading.epoch === undefined && memory !== undefined) {
      log.warn({ event: 'redis-emptied' }, 'Redis was emptied: all waiting notices are lost');
    }
    this.#memory = reading.epoch;
    return true;
  }

  async #record(
    { epoch }: EpochReading,
    { kind, why, copyAt, missingMs }: Exclude<RestoreVerdict, { kind: 'continue' }>,
  ): Promise<true> {
    const { redis, keys, settings, log } = this.#options;
    if (epoch === undefined) return true;
    const verdict = kind === 'suspect' && settings.guard === 'hold' ? 'held' : 'warned';
    const event = { why, verdict, copyAt, missingMs } as const;
    const memory = await recordRestored(redis, keys, epoch, this.#memory ?? epoch, event);
    if (memory !== undefined) {
      this.#memory = memory;
      log[verdict === 'held' ? 'error' : 'warn'](
        { event: 'restored', ...event, missingMs: Math.round(missingMs) },
        'Redis may contain an old copy of the queue; "notices restored" lists what might be sent again',
      );
    }
    return true;
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, this.#options.stopping);
  }
}
